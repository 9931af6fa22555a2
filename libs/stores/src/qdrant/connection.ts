import { QdrantClient } from "@qdrant/js-client-rest";
import pRetry from "p-retry";
import { EspalierError, LIMITS } from "#core";
import { isNotFound, isPassing, storeError } from "./errors.js";

/** How a Qdrant is reached and used. */
export interface QdrantSettings {
  /** `http://host:6333` or `https://…`; a path is kept as a prefix. Without a port it is the scheme's own. */
  readonly url: string;
  readonly apiKey?: string;
  /** First part of the names of our collections: two deployments can share a server. Default `espalier`. */
  readonly collectionPrefix?: string;
  /** Milliseconds that one request may take. Default LIMITS.storeCallMs. */
  readonly callTimeoutMs?: number;
  /** Searches over fewer candidates than this are exact. Default 20,000. */
  readonly exactBelow?: number;
  /** Scalar quantization (int8, rescored) of collections that are made from now on. Default `none`. */
  readonly quantization?: "none" | "int8";
}

/** Releases of Qdrant before this one know no prefix matching. */
const OLDEST = { major: 1, minor: 19 };
/** First pause before a request is repeated; it doubles. */
const RETRY_PAUSE_MS = 200;

/** Requests to one Qdrant: each has a time-out, is repeated when the failure passes by itself, and fails as `store_unavailable`. */
export class QdrantConnection {
  readonly #client: QdrantClient;
  readonly #server: string;
  readonly #timeoutMs: number;
  #whenNotFound: (() => void) | undefined;
  #closed = false;

  constructor({ url, apiKey, callTimeoutMs = LIMITS.storeCallMs }: QdrantSettings) {
    const { origin, pathname, port } = new URL(url);
    this.#server = origin;
    this.#timeoutMs = callTimeoutMs;
    this.#client = new QdrantClient({
      url: origin,
      port: port === "" ? null : Number(port),
      ...(pathname !== "/" && { prefix: pathname.replace(/\/$/, "") }),
      timeout: callTimeoutMs,
      maxConnections: LIMITS.storeConnections,
      checkCompatibility: false,
      // Compressed answers of more than 10 kB come 40 ms late: the last packet waits.
      headers: { "accept-encoding": "identity", ...(apiKey !== undefined && { "api-key": apiKey }) },
    });
  }

  /**
   * Sends a request that can be sent twice. `doing` says what failed: "reading scores".
   * @throws EspalierError `store_unavailable`, `store_refused`
   */
  async send<T>(doing: string, request: (client: QdrantClient) => Promise<T>): Promise<T> {
    const failure = { doing, server: this.#server, timeoutMs: this.#timeoutMs };
    const attempt = async (): Promise<T> => {
      if (this.#closed) throw new EspalierError("store_unavailable", "The stores are closed.");
      try {
        return await request(this.#client);
      } catch (thrown) {
        // Also an error of a realm of our own, which p-retry wants to see.
        const error = storeError(thrown, failure);
        if (isNotFound(error)) this.#whenNotFound?.();
        throw error;
      }
    };
    return pRetry(attempt, {
      retries: LIMITS.storeCallRetries,
      minTimeout: RETRY_PAUSE_MS,
      factor: 2,
      shouldRetry: ({ error }) => isPassing(error),
    });
  }

  /** Answers when the server does and the key opens it. */
  async ping(): Promise<void> {
    const { version } = await this.send("asking for its version", (client) => client.versionInfo());
    const [major = 0, minor = 0] = version.split(".").map(Number);
    if (major < OLDEST.major || (major === OLDEST.major && minor < OLDEST.minor)) {
      throw new EspalierError(
        "store_unavailable",
        `The Qdrant at ${this.#server} is ${version}; ${OLDEST.major}.${OLDEST.minor} or later is needed.`,
      );
    }
    // The version is told to anyone; the list of collections is not.
    await this.send("listing the collections", (client) => client.getCollections());
  }

  /** Called when the server answers that what a request is about is not there. */
  onNotFound(listener: () => void): void {
    this.#whenNotFound = listener;
  }

  /** Later requests answer `store_unavailable`. Idle connections end by themselves. */
  close(): void {
    this.#closed = true;
  }
}
