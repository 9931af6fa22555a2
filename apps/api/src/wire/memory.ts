import { z } from "zod";
import { LIMITS } from "#core";
import { atMost, fewFields, scorerName } from "#jobs";
import type { Memory } from "#memory";
import { instant, issue, name, pageOf, paging, text } from "./text.js";

const structure = z.enum(["artifact", "conversation"]);

const labels = atMost(
  LIMITS.memoryLabels,
  issue("too_many_labels", `at most ${LIMITS.memoryLabels} labels`),
  z.record(name, text(LIMITS.labelBytes, "label_too_large")),
).meta({ description: "Any labels; `user`, `agent` and `session` are customary.", examples: [{ user: "u1" }] });

/** Bytes of one template, and types with one. */
const TEMPLATE_BYTES = 4_096;
const TEMPLATE_TYPES = 256;

/** Each attribute is there once: a text is never much longer than what the node says, which the limits of inserts bound. */
const template = text(TEMPLATE_BYTES).refine(
  (value) => {
    const names = Array.from(value.matchAll(/\{([^{}]*)\}/gu), ([, attribute]) => attribute);
    return new Set(names).size === names.length;
  },
  { message: "must name each attribute once at most" },
);

const templates = atMost(
  TEMPLATE_TYPES,
  { message: `at most ${TEMPLATE_TYPES} templates` },
  z.record(name, template),
).meta({
  description: "Text templates by node type: `{attribute}` stands for that attribute.",
  examples: [{ Turn: "{speaker}: {text}" }],
});

/** Unknown scorers have a code of their own, so the enum is checked by hand. */
const scorer = z
  .string()
  .refine((value) => scorerName.safeParse(value).success, issue("unknown_scorer", "no such scorer"))
  .meta({ enum: [...scorerName.options] });

const scoring = z.strictObject({
  scorer: scorer.optional(),
  a: z.number().min(0).max(1).optional().meta({ description: "Share of similarity in `hybrid`." }),
  entailmentTemplate: text(512)
    .refine((value) => value.split("{}").length === 2, { message: "must have exactly one {}" })
    .optional(),
});

/** POST /v1/memories */
export const newMemoryBody = z
  .strictObject({
    name: text(LIMITS.memoryNameBytes, "name_too_long"),
    labels: labels.optional(),
    structure: structure.optional(),
    templates: templates.optional(),
    embeddingModel: text(512).optional(),
    scoring: fewFields(scoring).optional(),
  })
  .meta({ id: "NewMemory" });
export type NewMemoryBody = z.output<typeof newMemoryBody>;

/** PATCH /v1/memories/:memory */
export const memoryPatchBody = newMemoryBody
  .partial()
  .refine((value) => Object.keys(value).length > 0, { message: "must change something" })
  .meta({ id: "MemoryPatch" });
export type MemoryPatchBody = z.output<typeof memoryPatchBody>;

/** A memory as every answer shows it. */
export const memoryShape = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    labels: z.record(z.string(), z.string()),
    structure,
    templates: z.record(z.string(), z.string()),
    embeddingModel: z.string(),
    nextEmbeddingModel: z.string().optional().meta({
      description: "The model that a maintain job is moving the memory to; queries read the old one meanwhile.",
    }),
    scoring: z.strictObject({ scorer: scorerName, a: z.number(), entailmentTemplate: z.string() }),
    revision: z.number().int(),
    nodes: z.number().int(),
    tokens: z.number().int().meta({ description: "o200k tokens of all texts." }),
    bytes: z.number().int().meta({ description: "UTF-8 bytes of what the nodes say: types, attributes, metadata." }),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: "Memory" });
type MemoryShape = z.input<typeof memoryShape>;

/** A memory after a PATCH. */
export const patchedMemoryShape = memoryShape
  .extend({ job: z.string().optional().meta({ description: "The maintain job that the change started." }) })
  .meta({ id: "PatchedMemory" });

/** GET /v1/memories: `label.NAME=value` filters beside these. */
export const memoryListQuery = paging.extend({ name: z.string().min(1).optional() });

/** The names of label filters in a query string begin so. */
export const LABEL_PREFIX = "label.";

export const memoryPage = pageOf(memoryShape).meta({ id: "MemoryPage" });

/** DELETE /v1/memories/:memory */
export const deletedMemoryShape = z
  .strictObject({
    id: z.string(),
    deleted: z
      .strictObject({
        nodes: z.number().int(),
        vectors: z.number().int(),
        terms: z.number().int(),
        revisions: z.number().int(),
        inbox: z.number().int(),
        blobs: z.number().int(),
        jobs: z.number().int().meta({ description: "Jobs of the memory that had not ended and were cancelled." }),
      })
      .meta({ description: "Rows removed, by kind." }),
  })
  .meta({ id: "DeletedMemory" });

/** A stored memory in its wire shape. */
export function memoryToWire(memory: Memory): MemoryShape {
  return {
    id: memory.id,
    name: memory.name,
    labels: { ...memory.labels },
    structure: memory.structure,
    templates: { ...memory.templates },
    embeddingModel: memory.embeddingModel,
    ...(memory.nextEmbeddingModel !== undefined && { nextEmbeddingModel: memory.nextEmbeddingModel }),
    scoring: {
      scorer: memory.scoring.scorer,
      a: memory.scoring.a,
      entailmentTemplate: memory.scoring.entailmentTemplate,
    },
    revision: memory.revision,
    nodes: memory.nodes,
    tokens: memory.tokens,
    bytes: memory.bytes,
    createdAt: new Date(memory.createdAt).toISOString(),
    updatedAt: new Date(memory.updatedAt).toISOString(),
  };
}
