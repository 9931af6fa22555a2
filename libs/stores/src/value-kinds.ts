import type { AttributeValue } from "#core";
import type { ValueKind } from "#memory";

/** The parent type of the root's children. */
export const ROOT_TYPE = "Memory";

/** The kind under which a schema counts a value. */
export function kindOf(value: AttributeValue): ValueKind {
  if (typeof value === "string") return "string";
  if (typeof value === "number") return "number";
  return typeof value === "boolean" ? "boolean" : "list";
}
