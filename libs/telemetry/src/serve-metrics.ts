import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Metrics } from "./metrics.js";

/**
 * Serves `/metrics` on a bind of its own, without a key: for a port that only the scraper can reach.
 * @returns the server and the port that it got
 */
export async function serveMetrics(
  source: Pick<Metrics, "contentType" | "metrics">,
  bind: { readonly host: string; readonly port: number },
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    if (request.method !== "GET" || request.url?.split("?", 1)[0] !== "/metrics") {
      response.writeHead(404).end();
      return;
    }
    source.metrics().then(
      (text) => response.writeHead(200, { "content-type": source.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  await listen(server, bind);
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.closeAllConnections();
      const { promise, resolve } = Promise.withResolvers<undefined>();
      server.close(() => {
        resolve(undefined);
      });
      await promise;
    },
  };
}

function listen(server: Server, bind: { readonly host: string; readonly port: number }): Promise<undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  server.once("error", reject);
  server.listen(bind.port, bind.host, () => {
    server.off("error", reject);
    resolve(undefined);
  });
  return promise;
}
