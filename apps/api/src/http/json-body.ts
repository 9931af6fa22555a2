import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { EspalierError } from "#core";

/** Where in a JSON text an error is, without quoting the text. */
function place(error: unknown): string {
  // By its member: an error of another realm is no instance of this one's class.
  const text = typeof error === "object" && error !== null && "message" in error ? String(error.message) : "";
  const match = /position (\d+)/.exec(text);
  return match === null ? "" : ` (at character ${match[1] ?? ""})`;
}

/** Why a text was refused. What is JSON after all has names that would reach into prototypes. */
function refusal(text: string): EspalierError {
  try {
    JSON.parse(text);
  } catch (cause) {
    return new EspalierError("malformed_json", `The body is not one JSON value${place(cause)}.`, { cause });
  }
  return new EspalierError(
    "reserved_name",
    "The body has a member `__proto__`, or a `constructor` with a `prototype`.",
  );
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
      const text = body.toString("utf8");
      void parseJson(request, text, (error, value: unknown) => {
        if (error === null) done(null, value);
        else done(refusal(text));
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
