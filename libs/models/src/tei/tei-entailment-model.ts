import { EspalierError } from "#core";
import { throwIfAborted, type Batching, type EntailmentModel, type EntailmentProbabilities } from "#scoring";
import { z } from "zod";
import { mapEntailmentLabels, namedProbabilities, type EntailmentLabels } from "../entailment-labels.js";
import { InputTooLargeError } from "../server/server-failure.js";
import { estimateTokens } from "../server/token-estimate.js";
import { TeiClient, type TeiInfo, type TeiOptions } from "./tei-client.js";

const predictions = z.array(z.array(z.object({ label: z.string(), score: z.number().min(0).max(1) })));

interface Pair {
  readonly premise: string;
  readonly hypothesis: string;
}

/** The classifier that a TEI server serves (`POST /predict` with pairs). */
export class TeiEntailmentModel implements EntailmentModel {
  readonly id: string;
  readonly maxTokens: number;
  readonly batching: Batching;
  readonly #client: TeiClient;

  private constructor(client: TeiClient, info: TeiInfo) {
    this.#client = client;
    this.id = info.id;
    this.maxTokens = info.maxTokens;
    this.batching = info.batching;
  }

  /** @throws `scorer_unavailable` if the served model is no three-way entailment classifier. */
  static async open(options: TeiOptions): Promise<TeiEntailmentModel> {
    const client = new TeiClient(options);
    const info = await client.info();
    mapEntailmentLabels(info.id, info.labels ?? []);
    return new TeiEntailmentModel(client, info);
  }

  countTokens(text: string): number {
    return estimateTokens(text);
  }

  async entail(pairs: readonly Pair[], signal?: AbortSignal): Promise<readonly EntailmentProbabilities[]> {
    throwIfAborted(signal);
    // The server truncates the longer text of a pair first, which is the premise for any sensible condition.
    const inputs = pairs.map(({ premise, hypothesis }) => [premise, hypothesis]);
    let answer: unknown;
    try {
      answer = await this.#client.post("/predict", { inputs, raw_scores: false, truncate: true }, signal);
    } catch (thrown) {
      if (!(thrown instanceof InputTooLargeError)) throw thrown;
      return this.#entailInHalves(pairs, signal);
    }
    const parsed = predictions.safeParse(answer);
    if (!parsed.success || parsed.data.length !== pairs.length) {
      throw new EspalierError(
        "model_bad_output",
        `The model ${this.id} answered /predict with something else than probabilities for ${pairs.length} pairs.`,
        { details: { model: this.id, expected: pairs.length } },
      );
    }
    return parsed.data.map((scores) => {
      const labels: EntailmentLabels = mapEntailmentLabels(
        this.id,
        scores.map(({ label }) => label),
      );
      return namedProbabilities(
        scores.map(({ score }) => score),
        labels,
      );
    });
  }

  async #entailInHalves(pairs: readonly Pair[], signal?: AbortSignal): Promise<readonly EntailmentProbabilities[]> {
    if (pairs.length < 2) {
      throw new EspalierError("model_refused", `The model ${this.id} says that a single pair is too large.`, {
        details: { model: this.id },
      });
    }
    const middle = Math.ceil(pairs.length / 2);
    const first = await this.entail(pairs.slice(0, middle), signal);
    return [...first, ...(await this.entail(pairs.slice(middle), signal))];
  }
}
