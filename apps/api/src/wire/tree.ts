import { z } from "zod";
import { LIMITS } from "#core";
import { attributes } from "./attributes.js";
import { pageOf, paging } from "./text.js";

/** GET /v1/memories/:memory/tree */
export const treeQuery = paging.extend({
  /** Those of a deep walk name its open levels. */
  cursor: z.string().min(1).max(8_192).optional(),
  under: z.string().min(1).max(128).optional().meta({ description: "A node id; the default is the root." }),
  depth: z.coerce
    .number()
    .int()
    .min(1)
    .max(LIMITS.treeDepth)
    .default(1)
    .meta({ description: "Levels below it; 1 is its children. Nodes come in document order." }),
});
export type TreeQuery = z.output<typeof treeQuery>;

/** A node as the tree route shows it. */
const treeNodeShape = z
  .strictObject({
    id: z.string(),
    type: z.string(),
    path: z.string(),
    parent: z.string().nullable().meta({ description: "Id of the parent; null for a child of the root." }),
    attributes,
    metadata: attributes,
    children: z.number().int().meta({ description: "How many children the node has." }),
  })
  .meta({ id: "TreeNode" });

export const treePage = pageOf(treeNodeShape)
  .extend({ revision: z.number().int(), under: z.string().optional() })
  .meta({ id: "TreePage" });
export type TreePageShape = z.input<typeof treePage>;

const nameSummary = z.strictObject({
  name: z.string(),
  kinds: z.partialRecord(z.enum(["string", "number", "boolean", "list"]), z.number().int()),
  count: z.number().int(),
});

/** GET /v1/memories/:memory/schema */
export const schemaShape = z
  .strictObject({
    version: z.number().int().meta({ description: "Changes when a name, a kind or a relation comes or goes." }),
    types: z.array(
      z.strictObject({
        type: z.string(),
        count: z.number().int(),
        attributes: z.array(nameSummary),
        metadata: z.array(nameSummary),
      }),
    ),
    relations: z
      .array(z.strictObject({ parent: z.string(), child: z.string(), count: z.number().int() }))
      .meta({ description: "`Memory` is the root." }),
  })
  .meta({ id: "MemorySchema" });
