import { LRUCache } from "lru-cache";
import { EspalierError, LIMITS } from "#core";
import { queryPayload, scorerName, type QueryPayload } from "#jobs";
import { parse } from "#query";
import { validateBody } from "../http/validate.js";
import { explainBody, type ExplainBody } from "../wire/query.js";

/**
 * Everything about a query that can be refused before a job is made: its shape, its scorer, its syntax.
 * @throws EspalierError `invalid_request`, `topk_too_large`, `unknown_scorer`, and the parser's located errors
 */
export function checkQuery(body: unknown): QueryPayload {
  checkTopK(body);
  const payload = validateBody(queryPayload, body);
  checkScorer(payload.scorer);
  checkSyntax(payload.query);
  return payload;
}

/** Texts that parse: an agent asks the same few again and again. */
const PARSED = new LRUCache<string, true>({ max: LIMITS.cachedQueries });

function checkSyntax(query: string): void {
  if (PARSED.has(query)) return;
  parse(query);
  PARSED.set(query, true);
}

/**
 * The body of an explain request.
 * @throws EspalierError `invalid_request`, `topk_too_large`, `unknown_scorer`
 */
export function checkExplain(body: unknown): ExplainBody {
  checkTopK(body);
  const request = validateBody(explainBody, body);
  checkScorer(request.scorer);
  return request;
}

function checkScorer(scorer: string | undefined): void {
  if (scorer === undefined || scorerName.safeParse(scorer).success) return;
  const shown = JSON.stringify(scorer.slice(0, 64).toWellFormed());
  throw new EspalierError(
    "unknown_scorer",
    `There is no scorer ${shown}; there are ${scorerName.options.join(", ")}.`,
    {
      details: { scorers: scorerName.options },
    },
  );
}

/** A limit with a code of its own, so it comes before the shape. */
function checkTopK(body: unknown): void {
  if (typeof body !== "object" || body === null || !("topK" in body)) return;
  if (typeof body.topK !== "number" || body.topK <= LIMITS.topK) return;
  throw new EspalierError("topk_too_large", `topK is ${body.topK}; the limit is ${LIMITS.topK}.`, {
    details: { limit: LIMITS.topK },
  });
}
