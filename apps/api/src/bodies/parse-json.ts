import { isUtf8 } from "node:buffer";
import { parse } from "secure-json-parse";
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
 * One JSON value in UTF-8. O(size), synchronous.
 * @throws EspalierError `malformed_json`, `reserved_name`
 */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new EspalierError("malformed_json", "The body is not UTF-8.");
  const text = bytes.toString("utf8");
  try {
    return parse(text, { protoAction: "error", constructorAction: "error" }) as unknown;
  } catch {
    throw refusal(text);
  }
}
