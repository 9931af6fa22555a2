import { EspalierError } from "#core";
import { checkEmbeddings, throwIfAborted, type Batching, type Embedding, type EmbeddingModel } from "#scoring";
import { normalise, poolWindows } from "../pooling.js";
import { InputTooLargeError } from "./server-failure.js";
import { estimateTokens, halve, splitByEstimate } from "./token-estimate.js";

/** A text too short to be too large for anything: the server means something else. */
const SMALLEST_SPLIT = 16;

/** One request of a protocol: vectors in the texts' order, as they came. Throws as `callServer` does. */
export type EmbedRequest = (texts: readonly string[], signal?: AbortSignal) => Promise<readonly unknown[]>;

export interface ServerEmbeddingOptions {
  readonly id: string;
  readonly maxTokens: number;
  readonly batching: Batching;
  readonly request: EmbedRequest;
}

/**
 * Embeddings by a server, whatever its protocol: texts over the window (by the estimate, or by the server's own word) are
 * cut into windows, a request that is too large is halved, and vectors are checked and normalised.
 */
export class ServerEmbeddingModel implements EmbeddingModel {
  readonly id: string;
  readonly maxTokens: number;
  readonly batching: Batching;
  readonly dimension: number;
  readonly #request: EmbedRequest;

  private constructor(options: ServerEmbeddingOptions, dimension: number) {
    this.id = options.id;
    this.maxTokens = options.maxTokens;
    this.batching = options.batching;
    this.#request = options.request;
    this.dimension = dimension;
  }

  /** Learns the dimension from the server's first answer. Throws the server's errors. */
  static async open(options: ServerEmbeddingOptions): Promise<ServerEmbeddingModel> {
    const [answer] = await options.request(["dimension"]).catch((thrown: unknown) => {
      throw thrown instanceof InputTooLargeError ? refusal(options.id) : thrown;
    });
    const dimension = Array.isArray(answer) ? answer.length : 0;
    if (dimension === 0) {
      throw new EspalierError("model_bad_output", `The model ${options.id} answered no vector for a first text.`, {
        details: { model: options.id },
      });
    }
    return new ServerEmbeddingModel(options, dimension);
  }

  countTokens(text: string): number {
    return estimateTokens(text);
  }

  async embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly Embedding[]> {
    const parts = texts.map((text) => splitByEstimate(text, this.maxTokens));
    const windows = parts.flat();
    const vectors: (readonly Float32Array[])[] = [];
    for (let at = 0; at < windows.length; at += this.batching.batchItems) {
      throwIfAborted(signal);
      vectors.push(...(await this.#embedWindows(windows.slice(at, at + this.batching.batchItems), signal)));
    }
    let next = 0;
    return parts.map(({ length }) => {
      const own = vectors.slice(next, (next += length)).flat();
      return { vector: poolWindows(own), windowed: own.length > 1 };
    });
  }

  /** Per window its vectors: one, or several if the server found it too long. */
  async #embedWindows(windows: readonly string[], signal?: AbortSignal): Promise<(readonly Float32Array[])[]> {
    let answers: readonly unknown[];
    try {
      answers = await this.#request(windows, signal);
    } catch (thrown) {
      if (!(thrown instanceof InputTooLargeError)) throw thrown;
      return this.#embedInParts(windows, signal);
    }
    const embeddings = answers.map((answer) => ({ vector: toVector(answer), windowed: false }));
    checkEmbeddings(embeddings, { model: this.id, dimension: this.dimension, count: windows.length });
    return embeddings.map(({ vector }) => [normalise(vector)]);
  }

  async #embedInParts(windows: readonly string[], signal?: AbortSignal): Promise<(readonly Float32Array[])[]> {
    const [only] = windows;
    if (windows.length === 1 && only !== undefined) {
      if (only.length < SMALLEST_SPLIT) throw refusal(this.id);
      return [(await this.#embedWindows(halve(only), signal)).flat()];
    }
    const middle = Math.ceil(windows.length / 2);
    const first = await this.#embedWindows(windows.slice(0, middle), signal);
    return [...first, ...(await this.#embedWindows(windows.slice(middle), signal))];
  }
}

const refusal = (model: string): EspalierError =>
  new EspalierError("model_refused", `The model ${model} says that even a short text is too large.`, {
    details: { model },
  });

/** What is not a number becomes NaN, which `checkEmbeddings` refuses by its place. */
const toVector = (answer: unknown): Float32Array =>
  Float32Array.from(Array.isArray(answer) ? answer : [], (value: unknown) =>
    typeof value === "number" ? value : Number.NaN,
  );
