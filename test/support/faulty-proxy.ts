import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What a request meets instead of the server. */
export type Fault =
  /** This answer. */
  | { readonly status: number; readonly body: unknown }
  /** No answer at all, for as long as the proxy has this fault. */
  | "silence"
  /** The server's work is done, and its answer is lost on the way. */
  | "lost answer";

/** Which fault a request meets; none where it is undefined. */
export type FaultOf = (request: { readonly method: string; readonly path: string }) => Fault | undefined;

/** A way to an HTTP server on which requests meet what a test wishes. */
export interface FaultyProxy {
  readonly url: string;
  /** From now on, for requests that come. What hangs in silence goes on to the server. */
  meet(faults: FaultOf): void;
  close(): Promise<void>;
}

/** Of a connection: `fetch` makes its own. */
const OF_CONNECTION = new Set(["host", "connection", "content-length", "transfer-encoding"]);

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value !== "string" || OF_CONNECTION.has(name) ? [] : [[name, value]],
    ),
  );
}

/** Listens on a port of its own and passes on what meets no fault. */
export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  let faults: FaultOf = () => undefined;
  let silence = Promise.withResolvers<undefined>();
  const server = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy());
  });
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [method, path] = [request.method ?? "GET", request.url ?? "/"];
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const fault = faults({ method, path });
    if (fault === "silence") await silence.promise;
    if (typeof fault === "object") {
      response.writeHead(fault.status, { "content-type": "application/json" }).end(JSON.stringify(fault.body));
      return;
    }
    const answer = await fetch(`${target}${path}`, {
      ...{ method, headers: headersOf(request) },
      ...(parts.length > 0 && { body: Buffer.concat(parts) }),
    });
    const body = Buffer.from(await answer.arrayBuffer());
    if (fault === "lost answer") response.destroy();
    else response.writeHead(answer.status, { "content-type": "application/json" }).end(body);
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    meet: (next) => {
      faults = next;
      silence.resolve(undefined);
      silence = Promise.withResolvers();
    },
    close: async () => {
      silence.resolve(undefined);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
