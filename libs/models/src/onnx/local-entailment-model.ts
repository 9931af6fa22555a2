/**
 * Natural-language inference by a local ONNX sequence classifier in the layout of transformers.js: config.json with
 * id2label, tokenizer.json, the weights. Logits become probabilities by softmax over the three labels.
 */
import { EspalierError } from "#core";
import { LOCAL_BATCHING, throwIfAborted, type EntailmentModel, type EntailmentProbabilities } from "#scoring";
import { z } from "zod";
import { mapEntailmentLabels, namedProbabilities, type EntailmentLabels } from "../entailment-labels.js";
import { checkModelFolder, readModelFolder, readModelJson } from "./model-folder.js";
import { OnnxSession, type SessionOptions } from "./session.js";
import { ModelTokenizer } from "./tokenizer.js";

/** Window of a classifier that does not state one. */
const DEFAULT_MAX_TOKENS = 512;
/** A stated window over this is a way to say "none". */
const LARGEST_WINDOW = 1_000_000;

const config = z.object({
  id2label: z.record(z.string().regex(/^\d+$/), z.string()),
  max_position_embeddings: z.number().int().positive().optional(),
});

export class LocalEntailmentModel implements EntailmentModel {
  readonly batching = LOCAL_BATCHING;
  readonly id: string;
  readonly maxTokens: number;
  readonly #labels: EntailmentLabels;
  readonly #session: OnnxSession;
  readonly #tokenizer: ModelTokenizer;

  private constructor(of: {
    id: string;
    maxTokens: number;
    labels: EntailmentLabels;
    session: OnnxSession;
    tokenizer: ModelTokenizer;
  }) {
    this.id = of.id;
    this.maxTokens = of.maxTokens;
    this.#labels = of.labels;
    this.#session = of.session;
    this.#tokenizer = of.tokenizer;
  }

  /**
   * Loads the classifier of a folder.
   * @throws `model_unusable` naming what is wrong with the folder, `scorer_unavailable` if its labels do not map.
   */
  static async open(path: string, options: SessionOptions = {}): Promise<LocalEntailmentModel> {
    const { id, weights } = await readModelFolder(path);
    const settings = await readConfig(path);
    const labels = mapEntailmentLabels(id, labelsInOrder(settings.id2label));
    const tokenizer = await ModelTokenizer.open(path);
    const maxTokens = await readMaxTokens(path, settings.max_position_embeddings);
    return new LocalEntailmentModel({
      id,
      maxTokens,
      labels,
      tokenizer,
      session: await OnnxSession.open(weights, id, options),
    });
  }

  /**
   * Looks whether a folder has a classifier of the right kind, without loading it.
   * @throws as `open` does, but for what only loading shows.
   */
  static async check(path: string): Promise<void> {
    await checkModelFolder(path);
    mapEntailmentLabels(path, labelsInOrder((await readConfig(path)).id2label));
  }

  countTokens(text: string): number {
    return this.#tokenizer.count(text);
  }

  async entail(
    pairs: readonly { readonly premise: string; readonly hypothesis: string }[],
    signal?: AbortSignal,
  ): Promise<readonly EntailmentProbabilities[]> {
    throwIfAborted(signal);
    const batch = pairs.map(({ premise, hypothesis }) => this.#tokenizer.pair(premise, hypothesis, this.maxTokens));
    const { data, dims } = await this.#session.run(batch, this.#tokenizer.padId);
    const [rows, labels] = dims;
    if (dims.length !== 2 || rows !== pairs.length || labels !== 3) {
      throw this.#badOutput(`${dims.join("x")} logits for ${pairs.length} pairs and 3 labels`);
    }
    return pairs.map((_, row) => {
      const logits = [...data.subarray(row * labels, (row + 1) * labels)];
      if (!logits.every(Number.isFinite))
        throw this.#badOutput(`a logit that is no number for the pair at index ${row}`);
      return namedProbabilities(softmax(logits), this.#labels);
    });
  }

  #badOutput(what: string): EspalierError {
    return new EspalierError("model_bad_output", `The model ${this.id} answered ${what}.`, {
      details: { model: this.id },
    });
  }

  /** Frees the weights. */
  async close(): Promise<void> {
    await this.#session.close();
  }
}

async function readConfig(path: string): Promise<z.output<typeof config>> {
  const settings = config.safeParse(await readModelJson(path, "config.json"));
  if (settings.success) return settings.data;
  throw new EspalierError("model_unusable", `The model folder ${path} lacks a config.json with id2label.`, {
    details: { folder: path },
  });
}

function softmax(logits: readonly number[]): readonly number[] {
  const largest = Math.max(...logits);
  const powers = logits.map((logit) => Math.exp(logit - largest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

/** `id2label` as a list; a gap in the numbers is no label. */
const labelsInOrder = (id2label: Readonly<Record<string, string>>): readonly string[] =>
  Object.keys(id2label).map((_, index) => id2label[String(index)] ?? "(missing)");

async function readMaxTokens(path: string, positions: number | undefined): Promise<number> {
  const settings = (await readModelJson(path, "tokenizer_config.json")) as Record<string, unknown> | undefined;
  const stated = settings?.["model_max_length"];
  if (typeof stated === "number" && stated > 0 && stated < LARGEST_WINDOW) return stated;
  return Math.min(positions ?? DEFAULT_MAX_TOKENS, DEFAULT_MAX_TOKENS);
}
