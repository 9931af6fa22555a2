import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as a receiver got it. */
export interface ReceivedWebhook {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What a receiver does with a request once it has read it. */
export type Reception = (response: ServerResponse, webhook: ReceivedWebhook) => void;

/** A receiver of webhooks on this machine. */
export interface WebhookReceiver {
  /** With a port and without a path, as `http://127.0.0.1:4711`. */
  readonly url: string;
  readonly received: ReceivedWebhook[];
  /** What it does from now on; at first it answers 204. */
  behave(reception: Reception): void;
  close(): void;
}

/** Answers a status and nothing else. */
export const answers =
  (status: number, headers: Readonly<Record<string, string>> = {}): Reception =>
  (response) => {
    response.writeHead(status, headers).end();
  };

/** Starts one on a free port. */
export async function startReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  let behaviour = answers(204);
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const webhook = { path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks).toString() };
      received.push(webhook);
      behaviour(response, webhook);
    });
  });
  const { promise, resolve } = Promise.withResolvers<undefined>();
  server.listen(0, "127.0.0.1", () => {
    resolve(undefined);
  });
  await promise;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    behave: (reception) => {
      behaviour = reception;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
