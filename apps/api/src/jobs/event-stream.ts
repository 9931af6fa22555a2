import type { ServerResponse } from "node:http";
import { once } from "node:events";
import type { JobEvent } from "#jobs";
import { jobToWire } from "../wire/job.js";

/** A comment this often keeps proxies from closing a quiet stream. */
const HEARTBEAT_MS = 15_000;

/** A client that takes nothing for so long is disconnected; until then at most one event waits in its buffer. */
const STALLED_MS = 30_000;

/** One event in the format of the HTML standard. */
export function formatEvent(event: JobEvent): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(jobToWire(event.record))}\n\n`;
}

export interface EventStreamOptions {
  readonly response: ServerResponse;
  readonly headers: Readonly<Record<string, string>>;
  readonly events: AsyncIterable<JobEvent>;
  /** Whether the client's key is refused by now: asked with every heartbeat. A stream can be longer than its key lives. */
  readonly isRefused: () => Promise<boolean>;
  /** Ends the stream. */
  readonly abort: AbortController;
  readonly heartbeatMs?: number;
  readonly stalledMs?: number;
}

/**
 * Sends a job's events until the job has ended, the client leaves, its key is refused or the signal is aborted. Nothing is read from the job
 * while the client's buffer is full, so a client that never reads costs one socket buffer, and its connection after
 * `stalledMs`.
 */
export async function streamEvents(options: EventStreamOptions): Promise<void> {
  const { response, abort, heartbeatMs = HEARTBEAT_MS, stalledMs = STALLED_MS } = options;
  response.writeHead(200, {
    ...options.headers,
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
  response.on("close", () => {
    abort.abort();
  });
  const heartbeat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(": still here\n\n");
    void options.isRefused().then((refused) => {
      if (refused) abort.abort();
    });
  }, heartbeatMs);
  heartbeat.unref();
  try {
    response.flushHeaders();
    for await (const event of options.events) {
      if (abort.signal.aborted) break;
      if (!response.write(formatEvent(event))) await drained(response, abort.signal, stalledMs);
    }
    response.end();
  } catch {
    // The status line has gone out: the client sees a broken stream and comes back with Last-Event-ID.
    response.destroy();
  } finally {
    clearInterval(heartbeat);
    abort.abort();
  }
}

/** Rejects if the client takes nothing for `stalledMs`. */
async function drained(response: ServerResponse, signal: AbortSignal, stalledMs: number): Promise<void> {
  await once(response, "drain", { signal: AbortSignal.any([signal, AbortSignal.timeout(stalledMs)]) });
}
