import { TypeID, typeidUnboxed } from "typeid-js";
import { v5 } from "uuid";

/** TypeID prefixes: memory, node, job, API key, tenant, webhook. */
export type IdKind = "mem" | "nod" | "job" | "key" | "ten" | "whk";

/** A source of fresh ids, a parameter wherever ids are made so that tests can fix them. */
export type IdSource = (kind: IdKind) => string;

/** Time-ordered random ids (UUIDv7 in TypeID form). */
export const randomId: IdSource = (kind) => typeidUnboxed(kind);

/** 128 bits in Crockford's base32: the first of 26 characters holds three. */
const SUFFIX = /_[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const SUFFIX_LENGTH = 26;

/** True if `text` is a well-formed TypeID of that kind. O(1). */
export function isId(kind: IdKind, text: string): boolean {
  return text.length === kind.length + 1 + SUFFIX_LENGTH && text.startsWith(`${kind}_`) && SUFFIX.test(text);
}

/** The UUID inside a TypeID. Throws on a malformed id. */
export function uuidOf(id: string): string {
  return TypeID.fromString(id).toUUID();
}

/** The TypeID of that kind around a UUID. */
export function idFromUuid(kind: IdKind, uuid: string): string {
  return TypeID.fromUUID(kind, uuid).toString();
}

/**
 * The id of the `ordinal`-th node that a job creates (architecture, "Consistency"): UUIDv5 of the job's UUID and the
 * ordinal, so that a second attempt of the job writes the same ids.
 */
export function derivedNodeId(jobId: string, ordinal: number): string {
  return idFromUuid("nod", v5(String(ordinal), uuidOf(jobId)));
}
