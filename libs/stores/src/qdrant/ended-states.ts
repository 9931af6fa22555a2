import { LIMITS, type MemoryScope, type NodeKey } from "#core";
import { stateKey } from "#scoring";
import type { PointLedger } from "../distributed/point-ledger.js";
import type { Selection } from "./filter-conditions.js";
import { named } from "./filter-conditions.js";
import { pagesOf } from "./named-points.js";
import { pointId } from "./points.js";

/** What a search reads. */
interface SearchRead {
  readonly model: string;
  readonly field: string;
  readonly revision: number;
}

/**
 * Leaves the states out of a selection that have ended and whose points do not say so yet: workers bring those in line, a
 * search only reads. One read of the ledger; a few states are named in the filter, of many the rows that were found are asked
 * about.
 */
export async function withoutEnded(
  ledger: PointLedger,
  scope: MemoryScope,
  read: SearchRead,
  selection: Selection,
): Promise<Selection> {
  const { field, revision } = read;
  const ended = await ledger.ended(scope, read, LIMITS.storePoints + 1);
  if (ended.length > LIMITS.storePoints) {
    return { ...selection, living: (keys) => areLiving(ledger, scope, read, keys) };
  }
  const ids = ended.filter(({ died = Infinity }) => died <= revision).map((state) => pointId(scope, field, state));
  return ids.length === 0 ? selection : { ...selection, filter: { ...selection.filter, must_not: [named(ids)] } };
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
