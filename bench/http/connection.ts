import { Agent, request } from "node:http";

/** An answer of a server. */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Sends JSON over kept connections: node:http, because a benchmark's client must cost little. */
export interface Connection {
  send(
    method: "GET" | "POST" | "DELETE",
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
  close(): void;
}

/** Connections to `url`, as many as are asked for at once; `key` is the API key, if the server wants one. */
export function connect(url: string, key?: string): Connection {
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  const base = new URL(url);
  return {
    send: (method, path, body, headers = {}) =>
      new Promise((resolve, reject) => {
        const payload = body === undefined ? undefined : JSON.stringify(body);
        const outgoing = request(
          {
            ...{ agent, method, path, host: base.hostname, port: base.port },
            headers: {
              ...headers,
              ...(key !== undefined && { authorization: `Bearer ${key}` }),
              ...(payload !== undefined && {
                "content-type": "application/json",
                "content-length": Buffer.byteLength(payload),
              }),
            },
          },
          (incoming) => {
            const chunks: Buffer[] = [];
            incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
            incoming.on("error", reject);
            incoming.on("end", () => {
              resolve({ status: incoming.statusCode ?? 0, body: Buffer.concat(chunks).toString() });
            });
          },
        );
        outgoing.on("error", reject);
        outgoing.end(payload);
      }),
    close: () => {
      agent.destroy();
    },
  };
}
