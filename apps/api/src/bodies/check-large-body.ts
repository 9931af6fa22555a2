import { hash } from "node:crypto";
import { move, transferableSymbol, valueSymbol } from "piscina";
import { toEspalierError } from "#core";
import type { Failure } from "../http/problem.js";
import { BODY_CHECKS, type BodyContext, type BodyName } from "./body-checks.js";
import { parseJson } from "./parse-json.js";

/** A body that is checked away from the event loop that answers requests. */
export interface LargeBodyTask {
  readonly name: BodyName;
  readonly bytes: Uint8Array;
  readonly context: BodyContext;
  /** Whether the body's SHA-256 is wanted. */
  readonly hashed: boolean;
}

/** What became of it. Errors travel by their parts: an instance would lose its class on the way. */
export type LargeBodyAnswer =
  | { readonly failure: Failure }
  | {
      readonly hash: string;
      /** The checked body, unless it is an insert's. */
      readonly checked?: unknown;
      /** An insert as the JSON of its job: large again, and of no other use to the thread that asked. */
      readonly insert?: { readonly under: string | undefined; readonly json: Uint8Array };
    };

/** The work of a thread of the pool: parses and checks one body exactly as a small one is, and hands it back. */
export function checkLargeBody({ name, bytes, context, hashed }: LargeBodyTask): LargeBodyAnswer {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const digest = hashed ? hash("sha256", body, "hex") : "";
    const value = parseJson(body);
    if (name !== "insert") {
      const check: (body: unknown, context: BodyContext) => unknown = BODY_CHECKS[name];
      return { hash: digest, checked: check(value, context) };
    }
    const checked = BODY_CHECKS.insert(value, context);
    const json = new TextEncoder().encode(JSON.stringify(checked));
    const answer = { hash: digest, insert: { under: "under" in checked ? checked.under : undefined, json } };
    return move({ [transferableSymbol]: json.buffer, [valueSymbol]: answer }) as unknown as LargeBodyAnswer;
  } catch (thrown) {
    const { code, message, details } = toEspalierError(thrown);
    return { failure: { code, message, details } };
  }
}
