import type { MetricsSnapshot } from "./metrics.js";

/**
 * Metrics of a child process over the channel that it was forked with: the parent asks, the child answers, each request
 * with a number of its own.
 */
interface Request {
  readonly type: "metrics-request";
  readonly number: number;
}

interface Answer {
  readonly type: "metrics-answer";
  readonly number: number;
  readonly snapshot: MetricsSnapshot;
}

/** One end of a channel: a `ChildProcess`, or `process` inside a child. */
export interface MetricsChannel {
  readonly connected?: boolean;
  send?(message: object): unknown;
  on(event: "message", listener: (message: unknown) => void): unknown;
  off(event: "message", listener: (message: unknown) => void): unknown;
}

/** Answers the parent's requests from now on. */
export function answerMetrics(channel: MetricsChannel, snapshot: () => Promise<MetricsSnapshot>): void {
  channel.on("message", (message) => {
    if (!isOfType(message, "metrics-request")) return;
    const { number } = message as Request;
    void snapshot().then((taken) => {
      const answer: Answer = { type: "metrics-answer", number, snapshot: taken };
      if (channel.connected === true) channel.send?.(answer);
    });
  });
}

let requests = 0;

/** Asks a child. A child that is gone or does not answer in time has no metrics: the scrape goes on without it. */
export async function askMetrics(channel: MetricsChannel, timeoutMs: number): Promise<MetricsSnapshot> {
  if (channel.connected !== true) return [];
  const request: Request = { type: "metrics-request", number: ++requests };
  const { promise, resolve } = Promise.withResolvers<MetricsSnapshot>();
  const listener = (message: unknown): void => {
    if (isOfType(message, "metrics-answer") && (message as Answer).number === request.number) {
      resolve((message as Answer).snapshot);
    }
  };
  const timer = setTimeout(() => {
    resolve([]);
  }, timeoutMs);
  channel.on("message", listener);
  try {
    channel.send?.(request);
    return await promise;
  } finally {
    clearTimeout(timer);
    channel.off("message", listener);
  }
}

function isOfType(message: unknown, type: string): message is { readonly type: string } {
  return typeof message === "object" && message !== null && "type" in message && message.type === type;
}
