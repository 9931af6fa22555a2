import { z } from "zod";
import { LIMITS } from "#core";

/**
 * Payloads of jobs, which are also the wire shapes of the routes that submit them. Deep checks of trees (names, depth,
 * widths, kinds, sizes) are libs/memory's, with located errors; here a tree is any JSON.
 */

export const scorerName = z.enum(["similarity", "entailment", "lexical", "hybrid"]);

export const queryPayload = z.strictObject({
  query: z.string().min(1),
  /** Checked by the reader so that an unknown one answers `unknown_scorer`. */
  scorer: z.string().optional(),
  topK: z.number().int().min(1).max(LIMITS.topK).default(10),
  minScore: z.number().min(0).max(1).optional(),
  minRatio: z.number().min(0).max(1).optional(),
  /** A revision. */
  asOf: z.number().int().min(0).optional(),
  include: z
    .array(z.enum(["subtree", "evidence"]))
    .max(2)
    .default([]),
  maxTokens: z.number().int().min(1).optional(),
  validate: z.boolean().default(true),
  trace: z.boolean().default(false),
  exact: z.boolean().default(false),
});
export type QueryPayload = z.output<typeof queryPayload>;

const metadataValue = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);

export const messagePayload = z.strictObject({
  speaker: z.string().min(1),
  text: z.string(),
  time: z.iso.datetime({ offset: true }).optional(),
  session: z.string().min(1).optional(),
  metadata: z.record(z.string(), metadataValue).optional(),
});
export type MessagePayload = z.output<typeof messagePayload>;

export const insertPayload = z.union([
  z.strictObject({ tree: z.unknown(), under: z.string().optional() }),
  z.strictObject({ xml: z.string(), under: z.string().optional() }),
  z.strictObject({
    conversation: z.string().min(1).default("default"),
    messages: z.array(messagePayload).min(1).max(LIMITS.insertNodes),
  }),
]);
export type InsertPayload = z.output<typeof insertPayload>;

/** Attribute fields in the batch lane after an artifact insert. */
export const scorePayload = z.strictObject({ task: z.literal("embed-fields"), revision: z.number().int().min(0) });
export type ScorePayload = z.output<typeof scorePayload>;

/** After a PATCH: recompute texts under new templates, and/or move to the memory's next embedding model. */
export const maintainPayload = z.strictObject({ task: z.enum(["retext", "reembed"]) });
export type MaintainPayload = z.output<typeof maintainPayload>;
