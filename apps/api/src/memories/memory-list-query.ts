import { z } from "zod";
import { LIMITS } from "#core";
import { validate } from "../http/validate.js";
import { LABEL_PREFIX, memoryListQuery } from "../wire/memory.js";
import { issue } from "../wire/text.js";
import type { MemoryListQuery } from "./memories.service.js";

const labelFilters = z
  .record(z.string().min(1), z.string())
  .refine(
    (value) => Object.keys(value).length <= LIMITS.memoryLabels,
    issue("too_many_labels", `at most ${LIMITS.memoryLabels} labels`),
  );

/**
 * The query string of a list of memories: `label.NAME=value` parameters are filters, all of which must match.
 * @throws EspalierError `invalid_request`
 */
export function parseMemoryList(query: unknown): MemoryListQuery {
  const plain: Record<string, unknown> = {};
  const labels: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(query as Readonly<Record<string, unknown>>)) {
    if (name.startsWith(LABEL_PREFIX)) labels[name.slice(LABEL_PREFIX.length)] = value;
    else plain[name] = value;
  }
  return {
    ...validate(memoryListQuery, plain, "query string"),
    labels: validate(labelFilters, labels, "query string"),
  };
}
