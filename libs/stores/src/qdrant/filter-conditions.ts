import type { Schemas } from "@qdrant/js-client-rest";
import { LIMITS, type MemoryScope, type NodeFilter, type NodeKey, PATH_SEPARATOR } from "#core";
import { outermostPaths } from "../outermost-paths.js";
import type { PointPayload } from "./points.js";

type Condition = Schemas["FieldCondition"] | Schemas["HasIdCondition"] | Schemas["Filter"];

/** A filter of one request. */
export interface PointFilter {
  readonly must: Condition[];
  readonly must_not?: Condition[];
}

/** Filters for Qdrant, and what is left to look at in their rows. */
export interface Selection {
  /** No point is in two of them. More than one where there are more contexts than a request should name. */
  readonly filters: readonly PointFilter[];
  /** Present where these are more requests than are sent at once: all of them together, and some more to be sorted out. */
  readonly wider?: WiderFilter;
  /** Present where more states have ended than a request should name: which of the rows live, in order. */
  readonly living?: (keys: readonly NodeKey[]) => Promise<readonly boolean[]>;
}

export interface WiderFilter {
  readonly filter: PointFilter;
  readonly accepts: (key: NodeKey) => boolean;
}

const equal = (key: keyof PointPayload, value: string): Condition => ({ key, match: { value } });

/** All points of a memory. */
export function ofMemory({ tenant, memory }: MemoryScope): Condition[] {
  return [equal("tenant", tenant), equal("memory", memory)];
}

/** The points of one field of states that came with one revision. */
export function statesOf(
  scope: MemoryScope,
  { field, born }: { readonly field: string; readonly born: number },
  nodes: ReadonlySet<string>,
): Condition[] {
  return [
    ...ofMemory(scope),
    equal("field", field),
    { key: "born", range: { gte: born, lte: born } },
    { key: "node", match: { any: [...nodes] } },
  ];
}

/** Points by name, where they are. */
export const named = (ids: readonly string[]): Condition => ({ has_id: [...ids] });

/**
 * The points of one field whose states are live at the revision and belong to the node filter. `died` alone says what is live,
 * at the head too: `head` can be ahead of the revision that is read, when another process has ended a state since.
 */
export function selectionOf(
  scope: MemoryScope,
  { revision, field }: { readonly revision: number; readonly field: string },
  { type, scope: axis }: NodeFilter,
): Selection {
  const must = [
    ...ofMemory(scope),
    equal("field", field),
    { key: "born", range: { lte: revision } },
    { key: "died", range: { gt: revision } },
    ...(type === undefined ? [] : [equal("type", type)]),
  ];
  if (axis.kind === "descendants" && axis.of.includes("")) return { filters: [{ must }] };
  const contexts = axis.kind === "children" ? [...new Set(axis.of)] : outermostPaths(axis.of);
  const filters: PointFilter[] = [];
  for (let from = 0; from < contexts.length; from += LIMITS.filterContexts) {
    const some = contexts.slice(from, from + LIMITS.filterContexts);
    filters.push({ must: [...must, axisCondition(axis.kind, some)] });
  }
  if (filters.length <= LIMITS.storeRequestsInFlight) return { filters };
  return { filters, wider: { filter: { must }, accepts: acceptor(axis) } };
}

function axisCondition(kind: NodeFilter["scope"]["kind"], contexts: readonly (string | null)[]): Condition {
  if (kind === "children") return { key: "parent", match: { any: contexts.map((id) => id ?? "") } };
  return { should: contexts.map((path) => ({ key: "path", match: { prefix: `${path ?? ""}${PATH_SEPARATOR}` } })) };
}

/** O(depth) per node, however many contexts there are. */
function acceptor(axis: NodeFilter["scope"]): (key: NodeKey) => boolean {
  if (axis.kind === "children") {
    const parents = new Set(axis.of);
    return ({ parentId }) => parents.has(parentId);
  }
  const paths = new Set(axis.of);
  return ({ pathKey }) => {
    for (let end = pathKey.lastIndexOf(PATH_SEPARATOR); end > 0; end = pathKey.lastIndexOf(PATH_SEPARATOR, end - 1)) {
      if (paths.has(pathKey.slice(0, end))) return true;
    }
    return false;
  };
}
