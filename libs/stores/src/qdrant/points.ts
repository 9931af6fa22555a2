import { hash } from "node:crypto";
import type { Schemas } from "@qdrant/js-client-rest";
import { type MemoryScope, type NodeKey, PATH_SEPARATOR } from "#core";
import type { StoredPoint } from "#memory";
import type { StateRef } from "#scoring";
import type { PointSource } from "../distributed/point-ledger.js";

/** `died` of a state that lives: larger than any revision, exact as a double. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** Namespace of our point ids. Changing it makes every stored point a stranger. */
const NAMESPACE = Buffer.from("0b6c1c528f0e5d5c9a536d4b1f1d2c7e", "hex");

/** What a point says beside its vectors. All of it is indexed. */
export interface PointPayload {
  readonly tenant: string;
  readonly memory: string;
  readonly node: string;
  readonly field: string;
  readonly type: string;
  /** Path key. */
  readonly path: string;
  /** `""` for a child of the root. */
  readonly parent: string;
  readonly born: number;
  /** NEVER while the state lives. */
  readonly died: number;
  /** Whether the state lives. */
  readonly head: boolean;
}

/** Keys of the payload that a node key is made of. */
export const KEY_FIELDS = ["node", "born", "type", "parent", "path"] as const satisfies (keyof PointPayload)[];
/** Keys of the payload that name a point and its end. */
export const POINT_FIELDS = ["node", "born", "field", "died"] as const satisfies (keyof PointPayload)[];

/** Where names are put together that are not longer than so many bytes; a thousand at a time. */
const NAME_BYTES = 1_024;
const NAMED = Buffer.concat([NAMESPACE, Buffer.alloc(NAME_BYTES)]);

/** UUIDv5 of what names a point: a state that is moved or restored is a point of its own. */
export function pointId({ tenant, memory }: MemoryScope, field: string, { id, born }: StateRef): string {
  return nameHash(JSON.stringify([tenant, memory, id, born, field]));
}

/**
 * The UUIDv5 of a name (RFC 9562): SHA-1 of namespace and name, with version and variant. A microsecond: a query names a
 * thousand points, for which a library that hashes by streams takes as long as Qdrant for their scores.
 */
function nameHash(name: string): string {
  const length = Buffer.byteLength(name);
  const bytes = length <= NAME_BYTES ? NAMED : Buffer.concat([NAMESPACE, Buffer.alloc(length)]);
  bytes.write(name, NAMESPACE.length);
  const digits = hash("sha1", bytes.subarray(0, NAMESPACE.length + length), "hex");
  const variant = ((parseInt(digits.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-5${digits.slice(13, 16)}-${variant}${digits.slice(18, 20)}-${digits.slice(20, 32)}`;
}

export function payloadOf({ tenant, memory }: MemoryScope, source: PointSource): PointPayload {
  const { id, field, type, pathKey, parentId, born, died } = source;
  const parent = parentId ?? "";
  return { tenant, memory, node: id, field, type, path: pathKey, parent, born, ...endOf(died) };
}

/** The part of a payload that changes when a state ends. */
export function endOf(died: number | undefined): Pick<PointPayload, "died" | "head"> {
  return { died: died ?? NEVER, head: died === undefined };
}

/** The node key of a point that was read with KEY_FIELDS. */
export function keyOfPoint({ payload }: { readonly payload?: unknown }): NodeKey {
  const { node, born, type, parent, path } = payload as Pick<PointPayload, (typeof KEY_FIELDS)[number]>;
  const depth = path.split(PATH_SEPARATOR).length;
  return { id: node, born, type, parentId: parent === "" ? null : parent, pathKey: path, depth };
}

/** What a point that was read with POINT_FIELDS is of. */
export function storedPoint({ payload }: Pick<Schemas["Record"], "payload">): StoredPoint {
  const { node, born, field, died } = payload as unknown as Pick<PointPayload, (typeof POINT_FIELDS)[number]>;
  return { id: node, born, field, ...(died !== NEVER && { died }) };
}
