import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { LIMITS } from "#core";
import { Places } from "../jobs/places.js";

/** Large bodies that arrive at once: they can take minutes to, and lie in memory meanwhile. */
const MOST = 2 * LIMITS.largeBodiesWaiting;

/**
 * Refuses a large body before any of it is read while too many are under way, half of them at most for one tenant. To be
 * called when requests have been admitted: whose body it is must be known.
 */
export function boundArrivingBodies(instance: FastifyInstance): void {
  const places = new Places(MOST, "too_many_large_bodies");
  instance.decorateRequest("arrived", undefined);
  instance.addHook("onRequest", async (request: FastifyRequest, reply: FastifyReply) => {
    if (request.caller === undefined || !isLarge(request)) return;
    request.arrived = places.take(request.caller.tenant);
    // For those that never arrive: a connection that is lost ends no response.
    reply.raw.once("close", () => {
      leave(request);
    });
  });
  instance.addHook("preValidation", async (request: FastifyRequest) => {
    leave(request);
  });
}

function leave(request: FastifyRequest): void {
  request.arrived?.();
  request.arrived = undefined;
}

/** Also one that does not say how long it will be. */
function isLarge({ headers }: FastifyRequest): boolean {
  const length = headers["content-length"];
  return length === undefined ? headers["transfer-encoding"] !== undefined : Number(length) > LIMITS.inlineBodyBytes;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Gives back the place of a large body that is under way. */
    arrived: (() => void) | undefined;
  }
}
