import { z } from "zod";
import { LIMITS } from "#core";
import { atMost } from "#jobs";
import { validate } from "../http/validate.js";
import { LABEL_PREFIX, memoryListQuery } from "../wire/memory.js";
import { issue } from "../wire/text.js";
import type { MemoryListQuery } from "./memories.service.js";

/** A list of pairs: a record would lose a label named `__proto__`, and with it the filter. */
const labelFilters = atMost(
  LIMITS.memoryLabels,
  issue("too_many_labels", `at most ${LIMITS.memoryLabels} labels`),
  z.array(z.tuple([z.string().min(1, "a label filter needs a name: label.NAME=value"), z.string()])),
);

/** A filter, or what was meant as one: `label=x` and `labels=x` lack the name. */
const isFilter = (name: string): boolean => name.startsWith(LABEL_PREFIX) || name === "label" || name === "labels";

/**
 * The query string of a list of memories: `label.NAME=value` parameters are filters, all of which must match.
 * @throws EspalierError `invalid_request`, `too_many_labels`
 */
export function parseMemoryList(query: unknown): MemoryListQuery {
  const entries = Object.entries(query as Readonly<Record<string, unknown>>);
  const plain = entries.filter(([name]) => !isFilter(name));
  const labels = entries
    .filter(([name]) => isFilter(name))
    .map(([name, value]) => [name.slice(LABEL_PREFIX.length), value]);
  return {
    ...validate(memoryListQuery, Object.fromEntries(plain), "query string"),
    labels: Object.fromEntries(validate(labelFilters, labels, "query string")),
  };
}
