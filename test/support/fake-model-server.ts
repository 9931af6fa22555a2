import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";

/** How a fake model server is set up. */
export interface FakeModelServerOptions {
  readonly dimension?: number;
  /** Longest input in words, two of which are special. */
  readonly maxTokens?: number;
  readonly maxBatch?: number;
  /** Requests without this bearer key answer 401. */
  readonly apiKey?: string;
  /** `id2label` of the classifier, in its order. */
  readonly labels?: readonly string[];
  readonly model?: string;
}

/** What the server does to one request instead of answering it well. */
export type Misbehaviour =
  | {
      readonly kind: "status";
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly text?: string;
    }
  /** Never answers. */
  | { readonly kind: "hang" }
  /** Sends its headers and a part of the body, then nothing. */
  | { readonly kind: "hang in the body" }
  /** Closes the connection. */
  | { readonly kind: "disconnect" }
  /** Answers only for the first half of the batch. */
  | { readonly kind: "half batch" }
  /** Every vector is one number short. */
  | { readonly kind: "wrong dimension" }
  /** One number of the vector at this index is replaced: `NaN` is not JSON, `null` is how others write it. */
  | { readonly kind: "broken vector"; readonly index: number; readonly value: "NaN" | "null" | "zeros" }
  | { readonly kind: "not json" }
  /** Answers well when `release` resolves. */
  | { readonly kind: "slow"; readonly release: Promise<unknown> };

/** One request that the server has seen. */
export interface SeenRequest {
  readonly path: string;
  readonly body: Record<string, unknown>;
  /** Settles when the client gave up or was answered: true if it gave up. */
  readonly aborted: Promise<boolean>;
}

/**
 * A model server for tests with the wire formats of the OpenAI embeddings API (`/v1/embeddings`) and of Text Embeddings
 * Inference (`/info`, `/embed`, `/predict`). Its vectors are bags of hashed words, so texts that share words are near; its
 * classifier says "entailment" by the share of the hypothesis' words that the premise has.
 */
export class FakeModelServer {
  readonly requests: SeenRequest[] = [];
  /** Most requests at once so far. */
  peak = 0;
  readonly #options: Required<Omit<FakeModelServerOptions, "apiKey">> & { readonly apiKey: string | undefined };
  readonly #server: Server;
  readonly #queue: Misbehaviour[] = [];
  #constant: Misbehaviour | undefined;
  #chosen: (texts: readonly string[]) => Misbehaviour | undefined = () => undefined;
  #inFlight = 0;

  private constructor(options: FakeModelServerOptions) {
    this.#options = {
      dimension: 16,
      maxTokens: 64,
      maxBatch: 8,
      labels: ["contradiction", "neutral", "entailment"],
      model: "fake-model",
      ...options,
      apiKey: options.apiKey,
    };
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  static async start(options: FakeModelServerOptions = {}): Promise<FakeModelServer> {
    const server = new FakeModelServer(options);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  /** Base URL; the OpenAI API is below `/v1`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Requests with texts, `/info` left out. */
  get calls(): readonly SeenRequest[] {
    return this.requests.filter(({ path }) => path !== "/info");
  }

  /** The next requests with texts misbehave so, one after the other; later ones are answered well again. */
  misbehave(...next: readonly Misbehaviour[]): void {
    this.#queue.push(...next);
  }

  /** All requests with texts misbehave so until the next call. */
  alwaysMisbehave(how: Misbehaviour | undefined): void {
    this.#constant = how;
  }

  /** Requests misbehave by their texts, where nothing else is planned for them, until the next call. */
  misbehaveWhen(choose: (texts: readonly string[]) => Misbehaviour | undefined): void {
    this.#chosen = choose;
  }

  /** Forgets what was asked and what was planned. */
  reset(): void {
    this.requests.length = 0;
    this.#queue.length = 0;
    this.#constant = undefined;
    this.#chosen = () => undefined;
    this.peak = 0;
  }

  /** The vector of a text, as a well-behaved answer has it. */
  vectorOf(text: string): number[] {
    const vector = Array.from({ length: this.#options.dimension }, () => 0);
    for (const word of wordsOf(text)) {
      const hash = createHash("sha256").update(word).digest();
      for (const [index, byte] of [...hash.subarray(0, 4)].entries()) {
        const at = byte % vector.length;
        vector[at] = (vector[at] ?? 0) + (index % 2 === 0 ? 1 : 0.5);
      }
    }
    const length = Math.hypot(...vector) || 1;
    return vector.map((value) => value / length);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "/";
    const body = await readBody(request);
    const aborted = once(response, "close").then(() => !response.writableFinished);
    this.requests.push({ path, body, aborted });
    if (this.#options.apiKey !== undefined && request.headers.authorization !== `Bearer ${this.#options.apiKey}`) {
      send(response, 401, problem(path, "invalid api key", "Unhealthy"));
      return;
    }
    if (path === "/info") {
      send(response, 200, JSON.stringify(this.#info()));
      return;
    }
    this.#inFlight += 1;
    this.peak = Math.max(this.peak, this.#inFlight);
    void aborted.finally(() => (this.#inFlight -= 1));
    await this.#answer(path, body, response);
  }

  async #answer(path: string, body: Record<string, unknown>, response: ServerResponse): Promise<void> {
    const how = this.#queue.shift() ?? this.#constant ?? this.#chosen(inputsOf(body).map(String));
    switch (how?.kind) {
      case "status": {
        const text = how.text ?? "planned failure";
        send(response, how.status, problem(path, text, how.status === 429 ? "Overloaded" : "Backend"), how.headers);
        return;
      }
      case "hang":
        return;
      case "hang in the body":
        response.writeHead(200, { "content-type": "application/json" });
        response.write("[[0.1,");
        return;
      case "disconnect":
        response.destroy();
        return;
      case "not json":
        send(response, 200, "<html>Bad gateway</html>");
        return;
      case "slow":
        await how.release;
        break;
      case "half batch":
      case "wrong dimension":
      case "broken vector":
      case undefined:
        break;
    }
    const tooLarge = this.#tooLarge(path, body);
    if (tooLarge !== undefined)
      send(response, path === "/v1/embeddings" ? 400 : 413, problem(path, tooLarge, "Validation"));
    else if (path === "/predict") send(response, 200, JSON.stringify(damaged(this.#predictions(body), how)));
    else if (path === "/embed" || path === "/v1/embeddings") send(response, 200, this.#embeddings(path, body, how));
    else send(response, 404, problem(path, "no such route", "Validation"));
  }

  #info(): Record<string, unknown> {
    const { model, labels, maxTokens, maxBatch } = this.#options;
    return {
      model_id: model,
      model_sha: null,
      model_dtype: "float32",
      model_type: { classifier: { id2label: Object.fromEntries(labels.entries()), label2id: {} } },
      max_concurrent_requests: 512,
      max_input_length: maxTokens,
      max_batch_tokens: 16_384,
      max_client_batch_size: maxBatch,
      auto_truncate: false,
      tokenization_workers: 2,
      version: "1.8.0",
    };
  }

  #tooLarge(path: string, body: Record<string, unknown>): string | undefined {
    const { maxBatch, maxTokens } = this.#options;
    const inputs = inputsOf(body);
    if (inputs.length > maxBatch) return `batch size ${inputs.length} > maximum allowed batch size ${maxBatch}`;
    const longest = Math.max(...inputs.map((input) => wordsOf([input].flat().join(" ")).length + 2));
    if (longest <= maxTokens || body["truncate"] === true) return undefined;
    return path === "/v1/embeddings"
      ? `This model's maximum context length is ${maxTokens} tokens, however you requested ${longest} tokens.`
      : `\`inputs\` must have less than ${maxTokens} tokens. Given: ${longest}`;
  }

  #embeddings(path: string, body: Record<string, unknown>, how: Misbehaviour | undefined): string {
    const vectors = damaged(
      inputsOf(body).map((input) => this.vectorOf(String(input))),
      how,
    );
    const printed = vectors.map((vector) => JSON.stringify(vector));
    if (how?.kind === "broken vector") {
      printed[how.index] = (printed[how.index] ?? "[]").replace(/^\[[^,]+/, `[${how.value === "NaN" ? "NaN" : "null"}`);
      if (how.value === "zeros") printed[how.index] = JSON.stringify(vectors[how.index]?.map(() => 0));
    }
    if (path === "/embed") return `[${printed.join(",")}]`;
    // The service does not promise an order: the index tells.
    const data = printed
      .map((vector, index) => `{"object":"embedding","index":${index},"embedding":${vector}}`)
      .reverse();
    return `{"object":"list","model":"m","usage":{"prompt_tokens":1,"total_tokens":1},"data":[${data.join(",")}]}`;
  }

  #predictions(body: Record<string, unknown>): { label: string; score: number }[][] {
    return inputsOf(body).map((pair) => {
      const [premise, hypothesis] = (pair as [string, string]).map((text) => new Set(wordsOf(text)));
      const shared = [...(hypothesis ?? [])].filter((word) => premise?.has(word)).length / (hypothesis?.size ?? 1);
      const scores: Record<string, number> = {
        entailment: 0.8 * shared,
        contradiction: 0.8 * (1 - shared),
        neutral: 0.2,
      };
      const predictions = this.#options.labels.map((label) => ({ label, score: scores[label.toLowerCase()] ?? 0 }));
      return predictions.sort((left, right) => right.score - left.score);
    });
  }
}

const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);

function inputsOf(body: Record<string, unknown>): readonly unknown[] {
  const inputs = body["inputs"] ?? body["input"];
  return Array.isArray(inputs) ? inputs : [inputs];
}

function damaged<T extends readonly unknown[]>(answers: readonly T[], how: Misbehaviour | undefined): readonly T[] {
  if (how?.kind === "half batch") return answers.slice(0, Math.floor(answers.length / 2));
  if (how?.kind === "wrong dimension") return answers.map((answer) => answer.slice(1) as unknown as T);
  return answers;
}

/** An error body as the protocol of the path has it. */
function problem(path: string, message: string, type: string): string {
  return path === "/v1/embeddings"
    ? JSON.stringify({ error: { message, type: "invalid_request_error", param: null, code: null } })
    : JSON.stringify({ error: message, error_type: type });
}

function send(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(body);
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
}
