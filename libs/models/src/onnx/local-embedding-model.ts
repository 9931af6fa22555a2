/**
 * Embeddings by a local ONNX sentence encoder: tokens in, last_hidden_state out, mean over the mask (or the first token,
 * where the folder's pooling settings say so), L2. Texts longer than the window are cut into windows whose vectors are
 * averaged and normalised. Padding is masked, so a text has the same vector alone and beside longer ones.
 */
import { EspalierError, LIMITS } from "#core";
import { checkEmbeddings, LOCAL_BATCHING, throwIfAborted, type Embedding, type EmbeddingModel } from "#scoring";
import { normalise, poolWindows } from "../pooling.js";
import { readModelFolder, readModelJson } from "./model-folder.js";
import { OnnxSession, type SessionOptions } from "./session.js";
import { ModelTokenizer, type Encoded } from "./tokenizer.js";

/** Window of a model that does not state one: that of all-MiniLM-L6-v2, whose folder has no settings. */
const DEFAULT_MAX_TOKENS = 256;

type Pooling = "mean" | "first";

interface Window extends Encoded {
  /** Index of the text that it is of. */
  readonly text: number;
}

export class LocalEmbeddingModel implements EmbeddingModel {
  readonly batching = LOCAL_BATCHING;
  readonly id: string;
  readonly maxTokens: number;
  readonly dimension: number;
  readonly #session: OnnxSession;
  readonly #tokenizer: ModelTokenizer;
  readonly #pooling: Pooling;

  private constructor(of: {
    id: string;
    maxTokens: number;
    dimension: number;
    session: OnnxSession;
    tokenizer: ModelTokenizer;
    pooling: Pooling;
  }) {
    this.id = of.id;
    this.maxTokens = of.maxTokens;
    this.dimension = of.dimension;
    this.#session = of.session;
    this.#tokenizer = of.tokenizer;
    this.#pooling = of.pooling;
  }

  /** Loads the model of a folder. @throws `model_unusable` naming the folder and what is wrong with it. */
  static async open(path: string, options: SessionOptions = {}): Promise<LocalEmbeddingModel> {
    const { id, weights } = await readModelFolder(path);
    const tokenizer = await ModelTokenizer.open(path);
    const pooling = await readPooling(path);
    const maxTokens = await readMaxTokens(path);
    const session = await OnnxSession.open(weights, id, options);
    try {
      // The graph may leave its last dimension open, so the model itself is asked.
      const { dims } = await session.run(tokenizer.windows("dimension", maxTokens), tokenizer.padId);
      const dimension = dims[2];
      if (dims.length === 3 && dimension !== undefined) {
        return new LocalEmbeddingModel({ id, maxTokens, dimension, session, tokenizer, pooling });
      }
      const shape = dims.join("x");
      throw new EspalierError(
        "model_bad_output",
        `The model ${id} answers ${shape} numbers, not texts x tokens x dimension: it is not a sentence encoder.`,
      );
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  countTokens(text: string): number {
    return this.#tokenizer.count(text);
  }

  async embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly Embedding[]> {
    const windows = texts.flatMap((text, index): Window[] =>
      this.#tokenizer.windows(text, this.maxTokens).map((window) => ({ ...window, text: index })),
    );
    const vectors: Float32Array[][] = texts.map(() => []);
    for (const batch of batchesOf(windows)) {
      throwIfAborted(signal);
      const pooled = await this.#embedBatch(batch);
      for (const [index, vector] of pooled.entries()) vectors[batch[index]?.text ?? -1]?.push(vector);
    }
    const embeddings = vectors.map((parts) => ({ vector: poolWindows(parts), windowed: parts.length > 1 }));
    return checkEmbeddings(embeddings, { model: this.id, dimension: this.dimension, count: texts.length });
  }

  async #embedBatch(batch: readonly Window[]): Promise<readonly Float32Array[]> {
    const { data, dims } = await this.#session.run(batch, this.#tokenizer.padId);
    const { dimension } = this;
    const width = dims[1] ?? 0;
    return batch.map(({ ids }, row) => {
      const tokens = this.#pooling === "first" ? 1 : ids.length;
      const start = row * width * dimension;
      const sum = new Float32Array(dimension);
      for (let at = start; at < start + tokens * dimension; at += dimension) {
        for (let index = 0; index < dimension; index += 1) sum[index] = (sum[index] ?? 0) + (data[at + index] ?? 0);
      }
      return normalise(sum.map((value) => value / tokens));
    });
  }

  /** Frees the weights. */
  async close(): Promise<void> {
    await this.#session.close();
  }
}

/** In runs of the windows' order, so that the windows of one text stay in theirs. */
function batchesOf(windows: readonly Window[]): readonly (readonly Window[])[] {
  const batches: Window[][] = [];
  let longest = 0;
  for (const window of windows) {
    const last = batches.at(-1);
    const padded = Math.max(longest, window.ids.length);
    const fits =
      last !== undefined &&
      last.length < LIMITS.modelBatchItems &&
      padded * (last.length + 1) <= LIMITS.modelBatchTokens;
    if (fits) last.push(window);
    else batches.push([window]);
    longest = fits ? padded : window.ids.length;
  }
  return batches;
}

async function readPooling(path: string): Promise<Pooling> {
  const settings = (await readModelJson(path, "1_Pooling/config.json")) as Record<string, unknown> | undefined;
  if (settings === undefined || settings["pooling_mode_mean_tokens"] === true) return "mean";
  if (settings["pooling_mode_cls_token"] === true) return "first";
  throw new EspalierError(
    "model_unusable",
    `The model in ${path} pools in a way that is not supported: mean or cls is.`,
  );
}

async function readMaxTokens(path: string): Promise<number> {
  const settings = (await readModelJson(path, "sentence_bert_config.json")) as Record<string, unknown> | undefined;
  const stated = settings?.["max_seq_length"];
  return typeof stated === "number" && stated > 2 ? stated : DEFAULT_MAX_TOKENS;
}
