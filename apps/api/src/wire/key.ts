import { z } from "zod";
import { LIMITS } from "#core";
import { atMost } from "#jobs";
import { NO_TENANT, type ApiKey } from "#memory";
import { instant, pageOf, paging, text } from "./text.js";

const scope = z.enum(["read", "write", "admin", "operator"]);

/** POST /v1/admin/keys */
export const newKeyBody = z
  .strictObject({
    name: text(256).optional(),
    scopes: atMost(
      scope.options.length,
      { message: `at most ${scope.options.length} scopes` },
      z
        .array(scope)
        .min(1)
        .max(scope.options.length)
        .refine((value) => new Set(value).size === value.length, { message: "must not repeat" }),
    ),
    memoryPrefix: z
      .string()
      .regex(/^mem_[0-9a-z]{0,26}$/, "must be the beginning of a memory id")
      .optional()
      .meta({ description: "Only memories whose id begins so." }),
    expiresAt: z.iso.datetime({ offset: true }).optional(),
    tenant: z
      .string()
      .min(1)
      .optional()
      .meta({ description: "Another tenant than that of the key which asks: for the scope `operator` alone." }),
  })
  .meta({ id: "NewKey" });
export type NewKeyBody = z.output<typeof newKeyBody>;

/** How long a key that was rotated stays valid when nothing is said. */
const OVERLAP_SECONDS = 3_600;

/** POST /v1/admin/keys/:key/rotate */
export const rotateKeyBody = z
  .strictObject({
    overlapSeconds: z
      .int()
      .min(0)
      .max(LIMITS.keyOverlapSeconds)
      .default(OVERLAP_SECONDS)
      .meta({ description: "How long the old key stays valid beside the new one." }),
    expiresAt: z.iso
      .datetime({ offset: true })
      .optional()
      .meta({ description: "Of the new key; when absent it lives as long as the old one was made for." }),
  })
  .meta({ id: "KeyRotation" });
export type RotateKeyBody = z.output<typeof rotateKeyBody>;

/** GET /v1/admin/keys */
export const keyListQuery = paging.extend({
  tenant: z.string().min(1).optional().meta({
    description: "Another tenant's keys, or `operator` for those of no tenant: for the scope `operator` alone.",
  }),
});

/** A key without its secret. */
export const keyShape = z
  .strictObject({
    id: z.string(),
    tenant: z
      .string()
      .optional()
      .meta({ description: "Absent: it belongs to none, and has the scope `operator` alone." }),
    name: z.string(),
    scopes: z.array(scope),
    memoryPrefix: z.string().optional(),
    createdAt: instant,
    expiresAt: instant.optional(),
  })
  .meta({ id: "Key" });

/** A new key: the only time that the secret is told. */
export const createdKeyShape = keyShape
  .extend({ key: z.string().meta({ description: "The secret. It is shown once and stored hashed." }) })
  .meta({ id: "CreatedKey" });

/** The answer of a rotation. */
export const rotatedKeyShape = createdKeyShape
  .extend({
    replaces: z
      .strictObject({ id: z.string(), expiresAt: instant })
      .meta({ description: "The old key, and when it stops working." }),
  })
  .meta({ id: "RotatedKey" });

export const keyPage = pageOf(keyShape).meta({ id: "KeyPage" });

/** DELETE /v1/admin/keys/:key */
export const deletedKeyShape = z.strictObject({ id: z.string(), deleted: z.literal(true) }).meta({ id: "DeletedKey" });

/** A stored key in its wire shape. */
export function keyToWire(key: ApiKey): z.input<typeof keyShape> {
  return {
    id: key.id,
    ...(key.tenant !== NO_TENANT && { tenant: key.tenant }),
    name: key.name,
    scopes: [...key.scopes],
    ...(key.memoryPrefix !== undefined && { memoryPrefix: key.memoryPrefix }),
    createdAt: new Date(key.createdAt).toISOString(),
    ...(key.expiresAt !== undefined && { expiresAt: new Date(key.expiresAt).toISOString() }),
  };
}
