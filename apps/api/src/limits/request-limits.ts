import type { FastifyReply } from "fastify";
import { EspalierError } from "#core";
import type { RequestLimit, RequestTaken } from "#jobs";
import type { ApiDependencies } from "../dependencies.js";

/** How long the limiter is left alone after it could not be reached: requests must not wait for it one by one. */
const REST_MS = 1_000;

/** Seconds of requests that may come at once where a tenant's limit says nothing else. */
const BURST_SECONDS = 2;

/**
 * The requests that a tenant may send, over all API processes. While Redis cannot be reached nothing is limited: what needs
 * Redis answers 503 by itself, and what does not goes on.
 */
export class RequestLimits {
  #restUntil = -Infinity;

  constructor(private readonly dependencies: Pick<ApiDependencies, "limits" | "limiter">) {}

  /**
   * Counts one request, and tells in the answer how many are left (draft-ietf-httpapi-ratelimit-headers).
   * @throws EspalierError `rate_limited`, `store_unavailable`
   */
  async take(tenant: string, reply: FastifyReply): Promise<void> {
    const { requestsPerSecond, burst } = await this.dependencies.limits.of(tenant);
    if (requestsPerSecond === undefined) return;
    const limit = { requestsPerSecond, burst: burst ?? Math.max(1, BURST_SECONDS * requestsPerSecond) };
    const taken = await this.#ask(tenant, limit);
    if (taken === undefined) return;
    reply.headers({
      "ratelimit-policy": `"requests";q=${Math.floor(limit.burst)};w=${Math.ceil(limit.burst / requestsPerSecond)}`,
      ratelimit: `"requests";r=${taken.remaining};t=${Math.ceil(taken.fullMs / 1_000)}`,
    });
    if (taken.allowed) return;
    throw rateLimited(limit, taken);
  }

  /** What became of the request; undefined while nobody can tell. */
  async #ask(tenant: string, limit: RequestLimit): Promise<RequestTaken | undefined> {
    if (performance.now() < this.#restUntil) return undefined;
    try {
      return await this.dependencies.limiter.take(tenant, limit);
    } catch {
      this.#restUntil = performance.now() + REST_MS;
      return undefined;
    }
  }
}

function rateLimited({ requestsPerSecond, burst }: RequestLimit, { nextMs }: RequestTaken): EspalierError {
  const message = `The tenant may send ${requestsPerSecond} requests a second, and ${burst} at once after a rest.`;
  return new EspalierError("rate_limited", message, {
    details: { limit: "requestsPerSecond", value: requestsPerSecond, burst, retryAfterSeconds: nextMs / 1_000 },
  });
}
