import { EspalierError } from "#core";

interface Failure {
  /** What was being done: "reading scores". */
  readonly doing: string;
  readonly server: string;
  readonly timeoutMs: number;
}

/** Answers that a server gives while it starts, is restarted or is overloaded. */
const PASSING_STATUS: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Answers that are about the server, its key or its load, and not about what was asked. */
const OF_SERVER_STATUS: ReadonlySet<number> = new Set([401, 403, 404, 408, 409, 429]);

/** Whether a failure passes by itself in a moment: a lost connection, a server that starts. A slow one is not asked twice. */
export function isPassing({ cause }: { readonly cause?: unknown }): boolean {
  const status = statusOf(cause);
  return status === undefined ? nameOf(cause) === "TypeError" : PASSING_STATUS.has(status);
}

/** Whether the server answered that the thing is not there. */
export function isNotFound(error: unknown): boolean {
  return error instanceof EspalierError && statusOf(error.cause) === 404;
}

/** Whether the server answered that the thing is there already. */
export function isConflict(error: unknown): boolean {
  return error instanceof EspalierError && statusOf(error.cause) === 409;
}

/**
 * `store_unavailable`, or `store_refused` where the same request would fail again; says what to check. The server's own
 * words are in the cause: they can quote what is stored.
 */
export function storeError(thrown: unknown, failure: Failure): EspalierError {
  if (thrown instanceof EspalierError) return thrown;
  const { doing, server } = failure;
  const status = statusOf(thrown);
  const reason = status === undefined ? reasonOfThrow(thrown, failure) : reasonOfAnswer(status, textOf(thrown));
  const code = status !== undefined && isRefusal(status) ? "store_refused" : "store_unavailable";
  return new EspalierError(code, `Qdrant at ${server} failed while ${doing}: ${reason}`, {
    details: { store: "qdrant", server, ...(status !== undefined && { status }) },
    cause: thrown,
  });
}

const isRefusal = (status: number): boolean => status >= 400 && status < 500 && !OF_SERVER_STATUS.has(status);

function reasonOfThrow(thrown: unknown, { timeoutMs }: Failure): string {
  const name = nameOf(thrown);
  if (name === "QdrantClientTimeoutError" || name === "AbortError") {
    return `no answer within ${timeoutMs} ms. Check its load.`;
  }
  if (name === "QdrantClientResourceExhaustedError") return "it is overloaded. Retry later.";
  return "it cannot be reached. Check QDRANT_URL, with its port, and that the server runs.";
}

function reasonOfAnswer(status: number, text: string): string {
  if (status === 401) return "it refuses the API key. Check QDRANT_API_KEY.";
  if (status === 403) return "the API key may not do this. Check QDRANT_API_KEY: a read-only key is not enough.";
  if (status === 507 || /no space left|available disk space|disk|out of memory/i.test(text)) {
    return "it is full. Check its disk and memory.";
  }
  if (status === 404) return "it is not there. Check QDRANT_URL, and whether the collection was removed by hand.";
  if (status === 413) return "the request is too large for it. Check service.max_request_size_mb.";
  return `it answered ${status}. Check its log.`;
}

/** The status of an answer that is not 2xx. Told by its members: tests run in another realm. */
function statusOf(thrown: unknown): number | undefined {
  if (typeof thrown !== "object" || thrown === null || !("status" in thrown)) return undefined;
  return typeof thrown.status === "number" ? thrown.status : undefined;
}

function nameOf(thrown: unknown): string {
  return typeof thrown === "object" && thrown !== null && "name" in thrown ? String(thrown.name) : "";
}

function textOf(thrown: unknown): string {
  const data = typeof thrown === "object" && thrown !== null && "data" in thrown ? thrown.data : undefined;
  return typeof data === "string" ? data : JSON.stringify(data ?? "");
}
