import { hash } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { LIMITS } from "#core";
import { LargeBody } from "../bodies/large-body.js";
import { parseJson } from "../bodies/parse-json.js";

/**
 * Makes the instance read `application/json` and nothing else. A large body stays as it came, for a thread to parse. The
 * body's SHA-256 is kept when the request carries an `Idempotency-Key`, whose fingerprint it becomes part of.
 */
export function readJsonBodies(instance: FastifyInstance): void {
  instance.removeAllContentTypeParsers();
  instance.decorateRequest("bodyHash", "");
  instance.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    async (request: FastifyRequest, body: Buffer<ArrayBuffer>): Promise<unknown> => {
      if (body.length === 0) return undefined;
      if (body.length > LIMITS.inlineBodyBytes) return new LargeBody(body);
      if (request.headers["idempotency-key"] !== undefined) request.bodyHash = hash("sha256", body, "hex");
      return parseJson(body);
    },
  );
}

declare module "fastify" {
  interface FastifyRequest {
    /** SHA-256 of the body, hex; empty unless the request carries an `Idempotency-Key`. Of a large body: once it is checked. */
    bodyHash: string;
  }
}
