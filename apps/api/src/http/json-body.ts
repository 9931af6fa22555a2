import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { EspalierError } from "#core";

/** Where in a JSON text an error is, without quoting the text. */
function place(error: unknown): string {
  const match = /position (\d+)/.exec(error instanceof Error ? error.message : "");
  return match === null ? "" : ` (at character ${match[1] ?? ""})`;
}

/**
 * Makes the instance read `application/json` and nothing else. The body's SHA-256 is kept when the request carries an
 * `Idempotency-Key`, whose fingerprint it becomes part of.
 */
export function readJsonBodies(instance: FastifyInstance): void {
  instance.removeAllContentTypeParsers();
  instance.decorateRequest("bodyHash", "");
  const parseJson = instance.getDefaultJsonParser("error", "error");
  instance.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    (request: FastifyRequest, body: Buffer, done) => {
      if (body.length === 0) {
        done(null, undefined);
        return;
      }
      if (!isUtf8(body)) {
        done(new EspalierError("malformed_json", "The body is not UTF-8."));
        return;
      }
      if (request.headers["idempotency-key"] !== undefined) {
        request.bodyHash = createHash("sha256").update(body).digest("hex");
      }
      void parseJson(request, body.toString("utf8"), (error, value: unknown) => {
        if (error === null) done(null, value);
        else
          done(new EspalierError("malformed_json", `The body is not one JSON value${place(error)}.`, { cause: error }));
      });
    },
  );
}

declare module "fastify" {
  interface FastifyRequest {
    /** SHA-256 of the body, hex; empty unless the request carries an `Idempotency-Key`. */
    bodyHash: string;
  }
}
