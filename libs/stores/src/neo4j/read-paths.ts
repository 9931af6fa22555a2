/**
 * XPath-like paths in three statements, whatever the number of nodes: where the nodes lie, the types of all their ancestors,
 * and how many siblings of the same type lie between each ancestor and the one before it among those asked for. Their sums
 * are the places. So the siblings of one parent are passed over once, not once for every node.
 */
import { PATH_SEPARATOR } from "#core";
import { below, LIVES, ownerIn, type ReadScope, readNodes, run } from "./tree-reads.js";

/** A node on the way to one that was asked for. */
interface Place {
  readonly path: string;
  readonly type: string;
  /** Id; `""` is the root. */
  readonly parent: string;
}

export const PATHS = {
  places: { live: placesBy("live"), memory: placesBy("memory") },
  siblings: { live: siblingsBy("live"), memory: siblingsBy("memory") },
} as const;

function placesBy(owner: "live" | "memory"): string {
  return `
UNWIND $paths AS path
MATCH (n:Node) USING INDEX SEEK n:Node(${owner}, pathKey) WHERE n.${owner} = $memory AND n.pathKey = path AND ${LIVES}
RETURN n.pathKey AS path, n.type AS type, n.parent AS parent`;
}

/** Siblings of the type after `from`, up to the place itself. */
function siblingsBy(owner: "live" | "memory"): string {
  const index = owner === "live" ? "live, parent, pathKey" : "memory, type, pathKey";
  const found =
    owner === "live"
      ? "n.live = $memory AND n.parent = place.parent AND n.pathKey > place.from AND n.pathKey <= place.path AND n.type = place.type"
      : "n.memory = $memory AND n.type = place.type AND n.pathKey > place.from AND n.pathKey <= place.path AND n.parent = place.parent";
  return `
UNWIND $places AS place
MATCH (n:Node) USING INDEX SEEK n:Node(${index}) WHERE ${found} AND ${LIVES}
RETURN place.path AS path, count(*) AS count`;
}

/** Paths by id; unknown ids are left out. O(ancestors + siblings before them). */
export async function readPaths(scope: ReadScope, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const nodes = await readNodes(scope, [...new Set(ids)]);
  const prefixes = new Set(nodes.flatMap(({ pathKey }) => prefixesOf(pathKey)));
  const found = await run<Place>(scope, PATHS.places[ownerIn(scope)], { paths: [...prefixes] });
  const places = [...found].sort((left, right) => (left.path < right.path ? -1 : 1));
  const numbers = await numberPlaces(scope, places);
  const names = new Map(places.map(({ path, type }) => [path, `/${type}[${numbers.get(path) ?? 0}]`]));
  return new Map(
    nodes.map(({ id, pathKey }) => [
      id,
      prefixesOf(pathKey)
        .map((prefix) => names.get(prefix) ?? "")
        .join(""),
    ]),
  );
}

/** The number of each place, by its path, among the siblings of its type. Places are in document order. */
async function numberPlaces(scope: ReadScope, places: readonly Place[]): Promise<ReadonlyMap<string, number>> {
  const last = new Map<string, string>();
  const steps = places.map((place) => {
    const family = JSON.stringify([place.parent, place.type]);
    const before = last.get(family);
    last.set(family, place.path);
    return { ...place, before, from: before ?? below(parentOf(place.path)) };
  });
  const rows = await run<{ readonly path: string; readonly count: number }>(scope, PATHS.siblings[ownerIn(scope)], {
    places: steps.map(({ path, type, parent, from }) => ({ path, type, parent, from })),
  });
  const counts = new Map(rows.map(({ path, count }) => [path, count]));
  const numbers = new Map<string, number>();
  for (const { path, before } of steps) {
    const earlier = before === undefined ? 0 : (numbers.get(before) ?? 0);
    numbers.set(path, earlier + (counts.get(path) ?? 0));
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
