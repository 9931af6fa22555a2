/**
 * What the thread of an ONNX session does. The runtime works in the thread that calls it: `run` of its Node binding answers a
 * promise, but blocks the event loop until it is settled.
 */
import { InferenceSession, Tensor } from "onnxruntime-node";
import { move, transferableSymbol, valueSymbol, workerData } from "piscina";
import type { Encoded } from "./tokenizer.js";

/** What a thread is started with. */
export interface SessionThreadData {
  /** Path of the ONNX file. */
  readonly weights: string;
  /** See `SessionOptions`. */
  readonly threads: number | undefined;
  /** One 32-bit number, one of `states`; see session.ts. */
  readonly state: SharedArrayBuffer;
  readonly states: { readonly idle: number; readonly working: number; readonly ending: number };
}

/** A batch to run, padded to its longest. */
export interface Batch {
  readonly encoded: readonly Encoded[];
  readonly padId: number;
}

/** The first output of a model. */
export interface Output {
  readonly data: Float32Array;
  readonly dims: readonly number[];
}

export interface SessionTask {
  /** Absent: the model is loaded, and not run. */
  readonly batch?: Batch;
}

export interface SessionAnswer {
  /** An input that the model wants and no batch has. */
  readonly unknown?: string | undefined;
  /** What a batch gave, if it was 32-bit floats. */
  readonly output?: Output;
}

/** The inputs that a model may want. */
const INPUTS: Readonly<Record<string, (encoded: Encoded, at: number, padId: number) => number>> = {
  input_ids: ({ ids }, at, padId) => ids[at] ?? padId,
  attention_mask: ({ ids }, at) => (at < ids.length ? 1 : 0),
  token_type_ids: ({ types }, at) => types[at] ?? 0,
};

const { weights, threads, state: shared, states } = workerData as SessionThreadData;
const state = new Int32Array(shared);

/** Lets the runtime work, unless the process ends. */
async function work<T>(call: () => Promise<T>): Promise<T> {
  if (Atomics.compareExchange(state, 0, states.idle, states.working) === states.ending)
    throw new Error("The process ends.");
  try {
    return await call();
  } finally {
    Atomics.compareExchange(state, 0, states.working, states.idle);
    Atomics.notify(state, 0);
  }
}

const opening = work(() =>
  InferenceSession.create(weights, {
    executionProviders: ["cpu"],
    logSeverityLevel: 3,
    ...(threads !== undefined && { intraOpNumThreads: threads }),
  }),
);
opening.catch(() => {
  // Each task says so.
});

/** One call of the runtime. Rejects with what it throws. */
export default async function runSession({ batch }: SessionTask): Promise<SessionAnswer> {
  const session = await opening;
  if (batch === undefined) return { unknown: session.inputNames.find((name) => INPUTS[name] === undefined) };
  const feeds = feedsOf(session.inputNames, batch);
  const outputs = await work(() => session.run(feeds));
  const output = outputs[session.outputNames[0] ?? ""];
  if (output === undefined || !(output.data instanceof Float32Array)) return {};
  const answer: SessionAnswer = { output: { data: output.data, dims: output.dims } };
  return move({ [transferableSymbol]: output.data.buffer, [valueSymbol]: answer }) as unknown as SessionAnswer;
}

function feedsOf(names: readonly string[], { encoded, padId }: Batch): Readonly<Record<string, Tensor>> {
  const width = Math.max(...encoded.map(({ ids }) => ids.length));
  const feeds: Record<string, Tensor> = {};
  for (const name of names) {
    const data = new BigInt64Array(encoded.length * width);
    for (const [row, one] of encoded.entries()) {
      for (let at = 0; at < width; at += 1) data[row * width + at] = BigInt(INPUTS[name]?.(one, at, padId) ?? 0);
    }
    feeds[name] = new Tensor("int64", data, [encoded.length, width]);
  }
  return feeds;
}
