import { z } from "zod";
import { COUNTED_KINDS, JOB_OUTCOMES, type DayUsage } from "#jobs";
import { pageOf, paging } from "./text.js";

/** Milliseconds of a day in UTC. */
const DAY_MS = 86_400_000;

const count = z.int().min(0);

const day = z.iso.date().transform((date) => Date.parse(date) / DAY_MS);

/** GET /v1/admin/usage */
export const usageQuery = paging.extend({
  tenant: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: "Another tenant than that of the key: for the scope `operator` alone." }),
  from: day.optional().meta({ description: "The first day, in UTC; 29 days before `to` when absent." }),
  to: day.optional().meta({ description: "The last day; today when absent." }),
});
export type UsageQuery = z.output<typeof usageQuery>;

const outcomes = z.strictObject(Object.fromEntries(JOB_OUTCOMES.map((outcome) => [outcome, count])));

const dayShape = z
  .strictObject({
    day: z.iso.date(),
    jobs: z
      .strictObject(Object.fromEntries(COUNTED_KINDS.map((kind) => [kind, outcomes])))
      .meta({ description: "Jobs that ended on that day, by kind and outcome." }),
    nodes: count.meta({ description: "Nodes stored on that day, also those that are gone by now." }),
    bytes: count.meta({ description: "UTF-8 bytes of what these nodes say." }),
    modelTokens: count.meta({ description: "Tokens that models read; what a cache knew costs none." }),
  })
  .meta({ id: "DayUsage" });

/** What a tenant has and what it used, day by day. */
export const usageShape = pageOf(dayShape)
  .extend({
    tenant: z.string(),
    totals: z.strictObject({ memories: count, nodes: count, bytes: count, keys: count }).meta({
      description: "What is there now: live nodes, the UTF-8 bytes of what they say, and API keys that have not ended.",
    }),
    limits: z.record(z.string(), z.number()).meta({
      description: "The limits that hold for the tenant: its own, and the deployment's where it has none.",
    }),
  })
  .meta({ id: "Usage" });

/** A day in its wire shape. */
export function dayToWire({ day: since, ...usage }: DayUsage) {
  return { day: new Date(since * DAY_MS).toISOString().slice(0, 10), ...usage };
}

/** The day of a point in time, since 1970. */
export function dayOf(milliseconds: number): number {
  return Math.floor(milliseconds / DAY_MS);
}
