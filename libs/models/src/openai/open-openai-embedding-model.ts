import { EspalierError, LIMITS } from "#core";
import OpenAI, { APIConnectionError, APIError } from "openai";
import { AnswerError, callServer, type Patience } from "../server/call-server.js";
import { ServerEmbeddingModel, type EmbedRequest } from "../server/server-embedding-model.js";

/** Texts in one request: the service takes 2,048, other servers far fewer. */
const REQUEST_TEXTS = 64;
const REQUEST_TOKENS = 32_768;
/** Window of the service's own models. */
const SERVICE_MAX_TOKENS = 8_191;
/** Window of any other model, which a server does not tell: that of most encoders. */
const DEFAULT_MAX_TOKENS = 512;

export interface OpenAiOptions {
  /** Base URL up to and with `/v1`. */
  readonly url: string;
  readonly model: string;
  readonly apiKey?: string | undefined;
  readonly patience: Patience;
}

/** Id of a model at an OpenAI-compatible URL. */
export const openAiModelId = (url: string, model: string): string => `openai:${new URL(url).host}/${model}`;

/** An embedding model behind the OpenAI API (`POST /embeddings`), of the service or of any server that speaks it. */
export async function openOpenAiEmbeddingModel(options: OpenAiOptions): Promise<ServerEmbeddingModel> {
  const { url, model, apiKey, patience } = options;
  const id = openAiModelId(url, model);
  const client = new OpenAI({
    baseURL: url,
    // The library refuses to start without a key, which servers in a cluster do not have.
    apiKey: apiKey ?? "none",
    // Retries and time-outs are those of `callServer`, the same for every server; the library's come later.
    maxRetries: 0,
    timeout: 2 * patience.timeoutMs,
    // What a tenant's texts are sent to is what the configuration names: a redirect is an answer that is not 2xx.
    fetchOptions: { redirect: "manual" },
  });
  const request: EmbedRequest = (texts, signal) =>
    callServer(`The model server of ${id}`, (attempt) => createEmbeddings(client, { id, model, texts }, attempt), {
      patience,
      signal,
    });
  const isServiceModel = model.startsWith("text-embedding-");
  return ServerEmbeddingModel.open({
    id,
    maxTokens: isServiceModel ? SERVICE_MAX_TOKENS : DEFAULT_MAX_TOKENS,
    batching: { inFlight: LIMITS.modelRequestsInFlight, batchItems: REQUEST_TEXTS, batchTokens: REQUEST_TOKENS },
    request,
  });
}

async function createEmbeddings(
  client: OpenAI,
  of: { readonly id: string; readonly model: string; readonly texts: readonly string[] },
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const body = { model: of.model, input: [...of.texts], encoding_format: "float" as const };
  let data: unknown;
  try {
    ({ data } = await client.embeddings.create(body, { signal }));
  } catch (thrown) {
    throw asAnswer(thrown);
  }
  return inOrder(data, of);
}

/** The service may answer in any order, by `index`. */
function inOrder(data: unknown, of: { readonly id: string; readonly texts: readonly string[] }): readonly unknown[] {
  if (!Array.isArray(data) || data.length !== of.texts.length) {
    const count = Array.isArray(data) ? data.length : "no";
    throw new EspalierError(
      "model_bad_output",
      `The model ${of.id} answered ${count} vectors for ${of.texts.length} texts.`,
      {
        details: { model: of.id, expected: of.texts.length },
      },
    );
  }
  const vectors = new Map<unknown, unknown>();
  for (const [position, item] of (data as { index?: unknown; embedding?: unknown }[]).entries()) {
    vectors.set(item.index ?? position, item.embedding);
  }
  return of.texts.map((_, index) => vectors.get(index));
}

function asAnswer(thrown: unknown): unknown {
  if (thrown instanceof APIConnectionError || !(thrown instanceof APIError)) return thrown;
  const { status, message, code, headers } = thrown as APIError;
  return status === undefined ? thrown : new AnswerError({ status, headers, text: `${message} ${code ?? ""}` });
}
