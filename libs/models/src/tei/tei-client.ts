import { EspalierError, LIMITS } from "#core";
import type { Batching } from "#scoring";
import { z } from "zod";
import { AnswerError, callServer, type Patience } from "../server/call-server.js";

export interface TeiOptions {
  readonly url: string;
  /** The name to expect; default: what the server says. */
  readonly model?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly patience: Patience;
}

const info = z.object({
  model_id: z.string(),
  model_type: z.record(z.string(), z.unknown()).optional(),
  max_input_length: z.number().int().positive(),
  max_batch_tokens: z.number().int().positive(),
  max_client_batch_size: z.number().int().positive(),
});

/** What `/info` tells of a server. */
export interface TeiInfo {
  /** `tei:`, host and model. */
  readonly id: string;
  readonly maxTokens: number;
  readonly batching: Batching;
  /** `id2label` of a classifier. */
  readonly labels: readonly string[] | undefined;
}

const classifier = z.object({ classifier: z.object({ id2label: z.record(z.string(), z.string()) }) });

/** Id of a model at a TEI server. */
export const teiModelId = (url: string, model: string): string => `tei:${new URL(url).host}/${model}`;

/** A Text Embeddings Inference server: JSON in, JSON out. */
export class TeiClient {
  readonly #options: TeiOptions;
  readonly #name: string;

  constructor(options: TeiOptions) {
    this.#options = options;
    this.#name = `The TEI server at ${new URL(options.url).host}`;
  }

  /** @throws `model_refused` if the server serves another model than the one expected. */
  async info(): Promise<TeiInfo> {
    const answer = info.safeParse(await this.#send("/info"));
    if (!answer.success) {
      throw new EspalierError(
        "model_bad_output",
        `${this.#name} answered /info in an unknown form: is it a TEI server?`,
      );
    }
    const served = answer.data.model_id;
    const { model = served, url } = this.#options;
    if (model !== served) {
      throw new EspalierError("model_refused", `${this.#name} serves ${served}, expected ${model}.`, {
        details: { expected: model, served },
      });
    }
    const labels = classifier.safeParse(answer.data.model_type).data?.classifier.id2label;
    return {
      id: teiModelId(url, served),
      maxTokens: answer.data.max_input_length,
      batching: {
        inFlight: LIMITS.modelRequestsInFlight,
        batchItems: answer.data.max_client_batch_size,
        batchTokens: answer.data.max_batch_tokens,
      },
      labels: labels === undefined ? undefined : Object.values(labels),
    };
  }

  /** Answers the JSON of a POST. Throws as `callServer` does. */
  post(path: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
    return this.#send(path, body, signal);
  }

  #send(path: string, body?: unknown, signal?: AbortSignal): Promise<unknown> {
    const { url, apiKey, patience } = this.#options;
    const headers = {
      "content-type": "application/json",
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    };
    const sent = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
    const request = async (attempt: AbortSignal): Promise<unknown> => {
      // What a tenant's texts are sent to is what the configuration names: a redirect is an answer that is not 2xx.
      const answer = await fetch(url.replace(/\/+$/, "") + path, { ...sent, redirect: "manual", signal: attempt });
      const text = await answer.text();
      if (!answer.ok) throw new AnswerError({ status: answer.status, headers: answer.headers, text });
      return JSON.parse(text) as unknown;
    };
    return callServer(this.#name, request, { patience, signal });
  }
}
