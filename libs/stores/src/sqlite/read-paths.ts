/**
 * XPath-like paths in three statements, whatever the number of nodes: where the nodes lie, the types of all their ancestors,
 * and how many siblings of the same type lie between each ancestor and the one before it among those asked for. Their sums
 * are the places. So the siblings of one parent are passed over once, not once for every node.
 */
import { PATH_SEPARATOR } from "#core";
import { liveCondition } from "./states.js";
import { below, type ReadScope, tuples } from "./tree-reads.js";

/** A node on the way to one that was asked for. */
interface Place {
  readonly path: string;
  readonly type: string;
  readonly depth: number;
}

/** Paths by id; unknown ids are left out. O(ancestors + siblings before them). */
export function readPaths(scope: ReadScope, ids: readonly string[]): ReadonlyMap<string, string> {
  const nodes = tuples<readonly [id: string, path: string]>(
    scope,
    `SELECT s.id, s.path FROM json_each(:ids) i CROSS JOIN states s INDEXED BY states_by_id
     WHERE s.memory = :memory AND s.id = i.value AND ${liveCondition("s", scope.liveness)}`,
    { ids: JSON.stringify([...new Set(ids)]) },
  );
  const names = new Map<string, string>();
  for (const [place, number] of numberPlaces(
    scope,
    readPlaces(
      scope,
      nodes.flatMap(([, path]) => prefixesOf(path)),
    ),
  )) {
    names.set(place.path, `/${place.type}[${number}]`);
  }
  const pathOf = (path: string): string =>
    prefixesOf(path)
      .map((prefix) => names.get(prefix) ?? "")
      .join("");
  return new Map(nodes.map(([id, path]) => [id, pathOf(path)]));
}

/** Types of the nodes at these path keys, in document order. */
function readPlaces(scope: ReadScope, paths: readonly string[]): readonly Place[] {
  const rows = tuples<readonly [path: string, type: string, depth: number]>(
    scope,
    `SELECT s.path, s.type, s.depth FROM json_each(:paths) p
     CROSS JOIN states s INDEXED BY ${scope.liveness.head ? "states_by_path" : "states_by_history"}
     WHERE s.memory = :memory AND s.path = p.value AND ${liveCondition("s", scope.liveness)}`,
    { paths: JSON.stringify([...new Set(paths)].sort()) },
  );
  return rows.map(([path, type, depth]) => ({ path, type, depth }));
}

/** The number of each place among the siblings of its type. */
function numberPlaces(scope: ReadScope, places: readonly Place[]): ReadonlyMap<Place, number> {
  const last = new Map<string, Place>();
  const steps = places.map((place) => {
    const parent = parentOf(place.path);
    const family = JSON.stringify([parent, place.type]);
    const before = last.get(family);
    last.set(family, place);
    return { place, before, from: before?.path ?? below(parent) };
  });
  const counts = tuples<readonly [count: number]>(
    scope,
    `SELECT (SELECT count(*) FROM states s INDEXED BY ${scope.liveness.head ? "states_by_depth_and_type" : "states_by_history"}
       WHERE s.memory = :memory AND s.depth = p.value ->> 0 AND s.type = p.value ->> 1 AND s.path > p.value ->> 2
         AND s.path <= p.value ->> 3 AND ${liveCondition("s", scope.liveness)})
     FROM json_each(:steps) p ORDER BY p.key`,
    { steps: JSON.stringify(steps.map(({ place, from }) => [place.depth, place.type, from, place.path])) },
  );
  const numbers = new Map<Place, number>();
  for (const [index, { place, before }] of steps.entries()) {
    numbers.set(place, ((before && numbers.get(before)) ?? 0) + (counts[index]?.[0] ?? 0));
  }
  return numbers;
}

function parentOf(path: string): string {
  const end = path.lastIndexOf(PATH_SEPARATOR);
  return end < 0 ? "" : path.slice(0, end);
}

function prefixesOf(path: string): readonly string[] {
  const keys = path.split(PATH_SEPARATOR);
  return keys.map((_, index) => keys.slice(0, index + 1).join(PATH_SEPARATOR));
}
