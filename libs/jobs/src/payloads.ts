import { z } from "zod";
import { type Attributes, type ErrorCode, LIMITS } from "#core";

/**
 * Payloads of jobs, which are also the wire shapes of the routes that submit them. Deep checks of trees (names, depth,
 * widths, kinds, sizes) are libs/memory's, with located errors; here a tree is any JSON.
 */

/**
 * A schema behind a count of its list's items or its object's members. Zod looks at all of them before it counts, so that
 * without this one body could keep a process busy for seconds. `problem.params.code` names the error of the registry.
 */
export function atMost<Schema extends z.ZodType>(
  limit: number,
  problem: { readonly message: string; readonly params?: { readonly code: ErrorCode } },
  schema: Schema,
) {
  return z.preprocess((value: unknown, context) => {
    if (sizeOf(value) <= limit) return value;
    context.addIssue({ code: "custom", ...problem });
    return z.NEVER;
  }, schema);
}

function sizeOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

/** Fields of an object of fixed shape that are looked at; all shapes have far fewer. */
const MOST_FIELDS = 32;

/** An object of fixed shape as a part of a body. */
export function fewFields<Schema extends z.ZodType>(schema: Schema) {
  return atMost(MOST_FIELDS, { message: `has more than ${MOST_FIELDS} fields` }, schema);
}

export const scorerName = z.enum(["similarity", "entailment", "lexical", "hybrid"]);

export const queryPayload = z.strictObject({
  /** An empty one is the parser's to refuse, with a place. */
  query: z.string(),
  /** Checked by the reader so that an unknown one answers `unknown_scorer`. */
  scorer: z.string().optional(),
  topK: z.number().int().min(1).max(LIMITS.topK).default(10),
  minScore: z.number().min(0).max(1).optional(),
  minRatio: z.number().min(0).max(1).optional(),
  /** A revision. */
  asOf: z.number().int().min(0).optional(),
  include: atMost(2, { message: "has more than 2 items" }, z.array(z.enum(["subtree", "evidence"])).max(2)).default([]),
  maxTokens: z.number().int().min(1).optional(),
  validate: z.boolean().default(true),
  trace: z.boolean().default(false),
  exact: z.boolean().default(false),
});
export type QueryPayload = z.output<typeof queryPayload>;

/** Any JSON here: libs/memory counts the entries before it looks at them, and refuses what is not metadata. */
const metadata = z.unknown().meta({
  type: "object",
  description: `At most ${LIMITS.nodeAttributes} names with strings, numbers, booleans or lists of strings.`,
}) as z.ZodType<Attributes>;

export const messagePayload = z.strictObject({
  speaker: z.string().min(1),
  text: z.string(),
  time: z.iso.datetime({ offset: true }).optional(),
  session: z.string().min(1).optional(),
  metadata: metadata.optional(),
});
export type MessagePayload = z.output<typeof messagePayload>;

/** What an insert brings, by the member that tells one kind from another. */
export const insertPayloads = {
  tree: z.strictObject({ tree: z.unknown(), under: z.string().optional() }),
  xml: z.strictObject({ xml: z.string(), under: z.string().optional() }),
  messages: z.strictObject({
    conversation: z.string().min(1).default("default"),
    messages: atMost(
      LIMITS.insertNodes,
      { message: `more than ${LIMITS.insertNodes} messages`, params: { code: "too_many_nodes" } },
      z.array(fewFields(messagePayload)).min(1).max(LIMITS.insertNodes),
    ),
  }),
} as const;

export const insertPayload = z.union([insertPayloads.tree, insertPayloads.xml, insertPayloads.messages]);
export type InsertPayload = z.output<typeof insertPayload>;

/** Attribute fields in the batch lane after an artifact insert. */
export const scorePayload = z.strictObject({ task: z.literal("embed-fields"), revision: z.number().int().min(0) });
export type ScorePayload = z.output<typeof scorePayload>;

/** Rows of the outbox that one relay claimed, of many memories and tenants. */
export const embedRowsPayload = z.strictObject({ task: z.literal("embed-rows"), claim: z.string().min(1) });
export type EmbedRowsPayload = z.output<typeof embedRowsPayload>;

/**
 * After a PATCH: recompute texts under new templates, and/or move to the memory's next embedding model. When stores that lie
 * apart were found to differ: compare and repair.
 */
export const maintainPayload = z.strictObject({ task: z.enum(["retext", "reembed", "reconcile"]) });
export type MaintainPayload = z.output<typeof maintainPayload>;
