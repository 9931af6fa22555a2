import { z } from "zod";
import { atMost } from "#jobs";
import type { ApiKey } from "#memory";
import { instant, pageOf, text } from "./text.js";

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
  })
  .meta({ id: "NewKey" });
export type NewKeyBody = z.output<typeof newKeyBody>;

/** A key without its secret. */
export const keyShape = z
  .strictObject({
    id: z.string(),
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

export const keyPage = pageOf(keyShape).meta({ id: "KeyPage" });

/** DELETE /v1/admin/keys/:key */
export const deletedKeyShape = z.strictObject({ id: z.string(), deleted: z.literal(true) }).meta({ id: "DeletedKey" });

/** A stored key in its wire shape. */
export function keyToWire(key: ApiKey): z.input<typeof keyShape> {
  return {
    id: key.id,
    name: key.name,
    scopes: [...key.scopes],
    ...(key.memoryPrefix !== undefined && { memoryPrefix: key.memoryPrefix }),
    createdAt: new Date(key.createdAt).toISOString(),
    ...(key.expiresAt !== undefined && { expiresAt: new Date(key.expiresAt).toISOString() }),
  };
}
