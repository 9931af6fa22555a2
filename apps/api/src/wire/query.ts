import { z } from "zod";
import { queryPayload, scorerName } from "#jobs";
import { attributes } from "./attributes.js";

const subtreeShape = z
  .strictObject({
    id: z.string(),
    type: z.string(),
    attributes,
    metadata: attributes,
    get children() {
      return z.array(subtreeShape);
    },
  })
  .meta({ id: "Subtree" });

const evidenceShape = z.strictObject({
  aggregate: z.number().int().meta({ description: "Which aggregate of the query, from 0." }),
  id: z.string(),
  path: z.string(),
  score: z.number(),
});

const rowShape = z
  .strictObject({
    id: z.string(),
    type: z.string(),
    path: z.string().meta({ description: "For people: counts among siblings of the same type, as XPath does." }),
    attributes,
    metadata: attributes,
    score: z.number(),
    tokens: z.number().int().meta({ description: "o200k tokens of the text, and of the subtree's if included." }),
    evidence: z.array(evidenceShape).optional(),
    subtree: subtreeShape.optional(),
  })
  .meta({ id: "ResultRow" });

const warningShape = z.looseObject({ code: z.string(), message: z.string() }).meta({ id: "QueryWarning" });

/** The answer of a query. */
export const queryResultShape = z
  .strictObject({
    job: z.string(),
    query: z.string().meta({ description: "Canonical text." }),
    revision: z.number().int(),
    truncated: z.boolean().meta({
      description: "A limit dropped something: `topK` or `maxTokens` rows, or the limits of evidence and subtrees.",
    }),
    warnings: z.array(warningShape),
    scoring: z.looseObject({
      scorer: scorerName,
      model: z.string().optional(),
      a: z.number().optional(),
      template: z.string().optional(),
    }),
    rows: z.array(rowShape),
    tokens: z.number().int(),
    timings: z.looseObject({ queuedMs: z.number(), runMs: z.number() }),
    trace: z.unknown().optional(),
  })
  .meta({ id: "QueryResult" });

/** POST /v1/query/parse */
export const parseBody = z.strictObject({ query: z.string() }).meta({ id: "ParseRequest" });

export const parseShape = z
  .strictObject({
    query: z.string().meta({ description: "Canonical text." }),
    ast: z.unknown().meta({ description: "The syntax tree." }),
    warnings: z.array(warningShape),
  })
  .meta({ id: "ParsedQuery" });

/** POST /v1/query/explain */
export const explainBody = z
  .strictObject({
    query: z.string(),
    memory: z.string().min(1).optional(),
    scorer: z.string().optional(),
    topK: queryPayload.shape.topK,
    exact: queryPayload.shape.exact,
  })
  .meta({ id: "ExplainRequest" });
export type ExplainBody = z.output<typeof explainBody>;

export const explainShape = z
  .strictObject({
    query: z.string(),
    text: z.string().meta({ description: "The plan for people." }),
    plan: z.unknown().meta({ description: "The plan as JSON." }),
    warnings: z.array(warningShape),
  })
  .meta({ id: "ExplainedQuery" });
