import type { MemoryScope, NodeKey } from "#core";
import type { StoredPoint } from "#memory";
import { stateKey } from "#scoring";
import type { PointLedger } from "../distributed/point-ledger.js";
import type { PointFilter, Selection } from "./filter-conditions.js";
import { named } from "./filter-conditions.js";
import { pagesOf } from "./named-points.js";
import { pointId } from "./points.js";
import { KNOWN_ENDS } from "./standings.js";

/** What a search reads. */
interface SearchRead {
  readonly field: string;
  readonly revision: number;
}

/**
 * Leaves the states out of a selection that have ended and whose points do not say so yet: workers bring those in line, a
 * search only reads. A few states are named in the filter, of many the rows that were found are asked about.
 *
 * @param ended read before the search; KNOWN_ENDS are too many
 */
export function withoutEnded(
  ledger: PointLedger,
  scope: MemoryScope,
  { field, revision }: SearchRead,
  { ended, selection }: { readonly ended: readonly StoredPoint[]; readonly selection: Selection },
): Selection {
  if (ended.length >= KNOWN_ENDS) {
    return { ...selection, living: (keys) => areLiving(ledger, scope, { field, revision }, keys) };
  }
  const ids = ended.filter(({ died = Infinity }) => died <= revision).map((state) => pointId(scope, field, state));
  return ids.length === 0 ? selection : without(ids, selection);
}

function without(ids: readonly string[], { filters, wider, ...rest }: Selection): Selection {
  const less = (filter: PointFilter): PointFilter => ({ ...filter, must_not: [named(ids)] });
  return {
    ...rest,
    filters: filters.map(less),
    ...(wider !== undefined && { wider: { ...wider, filter: less(wider.filter) } }),
  };
}

/** Which of the states live at the revision, in order, as the ledger says. */
async function areLiving(
  ledger: PointLedger,
  scope: MemoryScope,
  { field, revision }: SearchRead,
  keys: readonly NodeKey[],
): Promise<readonly boolean[]> {
  const ended = new Set<string>();
  for (const page of pagesOf(keys.map(({ id, born }) => ({ id, born, field })))) {
    for (const source of await ledger.sources(scope, page)) {
      if ((source.died ?? Infinity) <= revision) ended.add(stateKey(source));
    }
  }
  return keys.map((key) => !ended.has(stateKey(key)));
}
