/**
 * `Idempotency-Key` on writes that are no jobs. The first request of a key runs; those beside it wait for its answer and give
 * the same; those after it give the answer that was kept, for 24 h. An answer is kept before it is sent. Failures that a
 * repeat could mend are not kept: after a 5xx the next request runs under the same effect id, a 429 leaves nothing behind.
 */
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { v7 } from "uuid";
import { EspalierError } from "#core";
import type { KeyedRequest, RequestLedger } from "#jobs";
import { LargeBody } from "../bodies/large-body.js";
import { idempotencyOf } from "./idempotency.js";
import type { OperationConfig } from "./operation.js";

/** How long a request waits for another of its key, and how often it looks. */
const WAIT_MS = 10_000;
const LOOK_MS = 50;

/** Headers that belong to an answer; the others are this response's own. */
const KEPT_HEADERS = ["content-type", "location", "cache-control", "retry-after"] as const;

/** An answer as it is kept. */
interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface RunningRequest {
  readonly keyed: KeyedRequest;
  readonly effect: string;
}

/** Honours the header on every operation whose `idempotent` is `answer`. */
export function answerOnce(instance: FastifyInstance, ledger: RequestLedger): void {
  instance.decorateRequest("once", undefined);
  instance.decorateRequest("missing", undefined);
  instance.addHook("preHandler", async (request: FastifyRequest, reply: FastifyReply) => {
    const keyed = keyedRequest(request);
    if (keyed === undefined) return undefined;
    const turn = await takeTurn(ledger, keyed);
    if (turn.turn === "done") return answerAgain(reply, openAnswer(turn.answer, request));
    request.once = { keyed, effect: turn.effect };
    if (request.missing !== undefined) throw request.missing;
    return undefined;
  });
  instance.addHook("onSend", async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    const { once } = request;
    if (once !== undefined) await keepAnswer(ledger, { once, request, reply, payload });
    return payload;
  });
}

function keyedRequest(request: FastifyRequest): KeyedRequest | undefined {
  const { operation } = request.routeOptions.config as Partial<OperationConfig>;
  if (operation?.idempotent !== "answer" || request.caller === undefined) return undefined;
  if (request.body instanceof LargeBody) request.bodyHash = hash("sha256", request.body.bytes, "hex");
  const idempotency = idempotencyOf(request);
  const { tenant, memoryPrefix = "" } = request.caller;
  // An answer tells what its key reaches: one with another reach is no repeat of it.
  return idempotency && { tenant, key: idempotency.key, fingerprint: idempotency.fingerprint + memoryPrefix };
}

async function takeTurn(ledger: RequestLedger, keyed: KeyedRequest) {
  // Time-ordered, as the ids of what is made under it: lists go by them.
  const effect = v7();
  const until = Date.now() + WAIT_MS;
  for (;;) {
    const turn = await ledger.begin(keyed, effect);
    if (turn.turn !== "wait") return turn;
    if (Date.now() > until) break;
    await delay(LOOK_MS);
  }
  throw new EspalierError("request_in_progress", "A request with this Idempotency-Key has not ended yet.");
}

function answerAgain(reply: FastifyReply, { status, headers, body }: KeptAnswer): FastifyReply {
  return reply.status(status).headers(headers).header("idempotency-replayed", "true").send(body);
}

/** What cannot be kept is answered all the same: a repeat finds the effect by its id. */
async function keepAnswer(
  ledger: RequestLedger,
  sent: {
    readonly once: RunningRequest;
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
    readonly payload: unknown;
  },
): Promise<void> {
  const { once, request, reply, payload } = sent;
  const { keyed, effect } = once;
  const { statusCode: status } = reply;
  const headers = Object.fromEntries(
    KEPT_HEADERS.flatMap((name) => (reply.hasHeader(name) ? [[name, String(reply.getHeader(name))]] : [])),
  );
  const answer: KeptAnswer = { status, headers, body: typeof payload === "string" ? payload : "" };
  const keep = async (): Promise<void> => {
    if (status === 429) await ledger.refused(keyed, effect);
    else if (status >= 500) await ledger.abandon(keyed, effect);
    else await ledger.end(keyed, effect, closeAnswer(answer, request));
  };
  await keep().catch((error: unknown) => {
    request.log.warn({ err: error, requestId: request.id }, "the answer of an idempotent request was not kept");
  });
}

/** An answer that must not be stored in the clear (it shows a secret once) can be opened with the caller's own key only. */
function closeAnswer(answer: KeptAnswer, request: FastifyRequest): string {
  const text = JSON.stringify(answer);
  if (answer.headers["cache-control"] !== "no-store") return text;
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", secretOf(request), nonce);
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return JSON.stringify({ sealed: Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64") });
}

function openAnswer(text: string, request: FastifyRequest): KeptAnswer {
  const answer = JSON.parse(text) as KeptAnswer | { readonly sealed: string };
  if (!("sealed" in answer)) return answer;
  const bytes = Buffer.from(answer.sealed, "base64");
  try {
    const decipher = createDecipheriv("aes-256-gcm", secretOf(request), bytes.subarray(0, 12));
    decipher.setAuthTag(bytes.subarray(12, 28));
    const opened = Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]);
    return JSON.parse(opened.toString("utf8")) as KeptAnswer;
  } catch (cause) {
    const message =
      "The answer of this Idempotency-Key shows a secret, and can be read with the API key that asked only.";
    throw new EspalierError("idempotency_conflict", message, { cause });
  }
}

function secretOf(request: FastifyRequest): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", request.headers.authorization ?? "", "", "espalier answer", 32));
}

declare module "fastify" {
  interface FastifyRequest {
    /** Set while the request runs under an idempotency key: what it makes is made under this effect id. */
    once: RunningRequest | undefined;
    /** Why the memory of the route is not there, of a request whose kept answer may say what became of it. */
    missing: EspalierError | undefined;
  }
}
