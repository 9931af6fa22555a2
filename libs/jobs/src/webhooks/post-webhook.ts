import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { LIMITS } from "#core";
import { literalOf, NOT_PUBLIC, type Targets } from "./targets.js";
import type { AttemptAnswer } from "./types.js";

/** Milliseconds that an idle connection to a receiver is kept for its next delivery, and such connections per receiver. */
const IDLE_MS = 5_000;
const IDLE_SOCKETS = 2;

/** One POST to a receiver. */
export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Posts to receivers. A redirect is an answer like any other that is no 2xx; proxies of the environment are not used. */
export interface WebhookPoster {
  /** Rejects only when the signal is aborted. */
  post(request: WebhookRequest, signal: AbortSignal): Promise<AttemptAnswer>;
  close(): void;
}

/** @param requestMs of one request, from the look-up of its host to the end of the answer */
export function createWebhookPoster(targets: Targets, requestMs: number): WebhookPoster {
  // An `Agent` with options of its own: the global ones may use proxies.
  const options = { keepAlive: true, maxFreeSockets: IDLE_SOCKETS, timeout: IDLE_MS, lookup: targets.lookup };
  const [http, https] = [new HttpAgent(options), new HttpsAgent(options)];
  return {
    post: async ({ url, headers, body }, signal) => {
      const parsed = new URL(url);
      const literal = literalOf(parsed);
      // A connection to an address looks nothing up.
      if (literal !== undefined && !targets.allows(literal)) return { error: "The address is not public." };
      const patience = AbortSignal.timeout(requestMs);
      const both = AbortSignal.any([signal, patience]);
      const secure = parsed.protocol === "https:";
      const call = (secure ? httpsRequest : httpRequest)(parsed, {
        ...{ method: "POST", agent: secure ? https : http, signal: both },
        headers: { ...headers, "content-length": String(Buffer.byteLength(body)) },
      });
      try {
        const answer = await answered(call, body);
        const status = answer.statusCode ?? 0;
        await drained(answer);
        return status >= 200 && status < 300 ? { status } : { status, error: `The receiver answered ${status}.` };
      } catch (error) {
        call.destroy();
        signal.throwIfAborted();
        return { error: patience.aborted ? `No answer within ${requestMs} ms.` : reasonOf(error) };
      }
    },
    close: () => {
      http.destroy();
      https.destroy();
    },
  };
}

async function answered(call: ReturnType<typeof httpRequest>, body: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  call.once("response", resolve);
  // Stays for errors that come after the answer has begun.
  call.on("error", reject);
  call.end(body);
  return promise;
}

/** Reads an answer to its end, for the connection to be used again; a long one is cut off with its connection. */
async function drained(answer: IncomingMessage): Promise<void> {
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > LIMITS.webhookAnswerBytes) return;
  }
}

/** What went wrong, without what a receiver may have sent. */
function reasonOf(error: unknown): string {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  if (message === NOT_PUBLIC) return NOT_PUBLIC;
  return typeof code === "string" ? `The request failed: ${code}.` : "The request failed.";
}
