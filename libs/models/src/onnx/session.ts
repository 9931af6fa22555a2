import { EspalierError, type ErrorCode } from "#core";
import { InferenceSession, Tensor } from "onnxruntime-node";
import type { Encoded } from "./tokenizer.js";

/** The model's first output of a batch. */
export interface Output {
  readonly data: Float32Array;
  readonly dims: readonly number[];
}

export interface SessionOptions {
  /** Threads of one call; default: the runtime's own choice, the physical cores. */
  readonly threads?: number | undefined;
}

/** An ONNX model that takes tokens. Calls run outside the event loop's thread. */
export class OnnxSession {
  readonly #session: InferenceSession;
  readonly #id: string;

  private constructor(session: InferenceSession, id: string) {
    this.#session = session;
    this.#id = id;
  }

  /** @throws `model_unusable` if the runtime cannot load the file. */
  static async open(weights: string, id: string, options: SessionOptions): Promise<OnnxSession> {
    const { threads } = options;
    try {
      const session = await InferenceSession.create(weights, {
        executionProviders: ["cpu"],
        logSeverityLevel: 3,
        ...(threads !== undefined && { intraOpNumThreads: threads }),
      });
      return new OnnxSession(session, id);
    } catch (cause) {
      throw new EspalierError("model_unusable", `The model ${id} cannot be loaded: is ${weights} an ONNX file?`, {
        cause,
      });
    }
  }

  /** One call for a batch, padded to its longest and masked. */
  async run(batch: readonly Encoded[], padId: number): Promise<Output & { readonly width: number }> {
    const width = Math.max(...batch.map(({ ids }) => ids.length));
    const shape = [batch.length, width];
    const inputs: Record<string, (encoded: Encoded, at: number) => number> = {
      input_ids: ({ ids }, at) => ids[at] ?? padId,
      attention_mask: ({ ids }, at) => (at < ids.length ? 1 : 0),
      token_type_ids: ({ types }, at) => types[at] ?? 0,
    };
    const feeds: Record<string, Tensor> = {};
    for (const name of this.#session.inputNames) {
      const value = inputs[name];
      if (value === undefined) throw this.#failure("model_unusable", `wants an input ${name}, which is unknown here`);
      const data = new BigInt64Array(batch.length * width);
      for (const [row, encoded] of batch.entries()) {
        for (let at = 0; at < width; at += 1) data[row * width + at] = BigInt(value(encoded, at));
      }
      feeds[name] = new Tensor("int64", data, shape);
    }
    return { ...(await this.#call(feeds)), width };
  }

  async #call(feeds: Readonly<Record<string, Tensor>>): Promise<Output> {
    let outputs: InferenceSession.OnnxValueMapType;
    try {
      outputs = await this.#session.run(feeds);
    } catch (cause) {
      const memory = /bad_alloc|failed to allocate|out of memory/i.test(String(cause));
      if (memory) throw this.#failure("model_out_of_memory", "ran out of memory", cause);
      throw this.#failure("model_unavailable", "failed in the runtime", cause);
    }
    const output = outputs[this.#session.outputNames[0] ?? ""];
    if (output === undefined || !(output.data instanceof Float32Array)) {
      throw this.#failure("model_bad_output", "answered no 32-bit floats");
    }
    return { data: output.data, dims: output.dims };
  }

  #failure(code: ErrorCode, what: string, cause?: unknown): EspalierError {
    return new EspalierError(code, `The model ${this.#id} ${what}.`, { details: { model: this.#id }, cause });
  }

  /** Frees the weights. */
  async close(): Promise<void> {
    await this.#session.release();
  }
}
