import type { NodeFilter } from "#core";
import { outermostPaths } from "../outermost-paths.js";
import { type Liveness, liveCondition, liveParameters } from "./states.js";
import { above, below } from "./tree-reads.js";

/** A part of a statement with the values it binds. */
export interface FilterSql {
  readonly sql: string;
  readonly parameters: Readonly<Record<string, string | number>>;
}

/**
 * `SELECT row, path …` of the states of a filter, read through the axis' index. Contexts lie in one JSON parameter, so that
 * their number does not change the text. Every state comes once.
 */
export function filterSelect(filter: NodeFilter, memory: number, liveness: Liveness): FilterSql {
  const type = filter.type === undefined ? "" : " AND s.type = :type";
  const own = `s.memory = :memory${type} AND ${liveCondition("s", liveness)}`;
  const parameters = {
    memory,
    ...liveParameters(liveness),
    ...(filter.type !== undefined && { type: filter.type }),
  };
  const select = (table: string, where: string): string =>
    `SELECT s.row AS row, s.path AS path FROM ${table} WHERE ${where}`;
  const states = `states s INDEXED BY ${indexOf(filter, liveness)}`;
  if (filter.scope.kind === "descendants") {
    const paths = outermostPaths(filter.scope.of);
    if (paths[0] === "") return { sql: select(states, own), parameters };
    const within = "s.path > c.value ->> 0 AND s.path < c.value ->> 1";
    const contexts = JSON.stringify(paths.map((path) => [below(path), above(path)]));
    return {
      sql: select(`json_each(:contexts) c CROSS JOIN ${states}`, `${own} AND ${within}`),
      parameters: { ...parameters, contexts },
    };
  }
  const parents = [...new Set(filter.scope.of)];
  const ids = parents.filter((id) => id !== null);
  const roots = parents.length > ids.length ? [select(states, `${own} AND s.depth = 1`)] : [];
  if (ids.length === 0 && roots[0] !== undefined) return { sql: roots[0], parameters };
  const parent = `c.memory = :memory AND c.id = i.value AND ${liveCondition("c", liveness)}`;
  const child = "s.depth = c.depth + 1 AND s.path > c.path || '.' AND s.path < c.path || '/'";
  const ofNodes = select(
    `json_each(:contexts) i CROSS JOIN states c INDEXED BY states_by_id CROSS JOIN ${states}`,
    `${parent} AND ${own} AND ${child}`,
  );
  return {
    sql: [...roots, ofNodes].join("\nUNION ALL\n"),
    parameters: { ...parameters, contexts: JSON.stringify(ids) },
  };
}

/** Condition on the states of alias `s`, for statements that come from elsewhere than the tree. */
export function filterCondition(filter: NodeFilter, liveness: Liveness): FilterSql {
  const conditions = [liveCondition("s", liveness)];
  const parameters: Record<string, string | number> = { ...liveParameters(liveness) };
  if (filter.type !== undefined) {
    conditions.push("s.type = :type");
    parameters["type"] = filter.type;
  }
  if (filter.scope.kind === "children") {
    conditions.push("coalesce(s.parent, '') IN (SELECT value FROM json_each(:contexts))");
    parameters["contexts"] = JSON.stringify(filter.scope.of.map((id) => id ?? ""));
  } else if (!filter.scope.of.includes("")) {
    const ranges = outermostPaths(filter.scope.of).map((path) => [below(path), above(path)]);
    conditions.push(
      "EXISTS (SELECT 1 FROM json_each(:contexts) c WHERE s.path > c.value ->> 0 AND s.path < c.value ->> 1)",
    );
    parameters["contexts"] = JSON.stringify(ranges);
  }
  return { sql: conditions.join(" AND "), parameters };
}

function indexOf(filter: NodeFilter, { head }: Liveness): string {
  if (!head) return "states_by_history";
  if (filter.scope.kind === "children") {
    return filter.type === undefined ? "states_by_depth" : "states_by_depth_and_type";
  }
  return filter.type === undefined ? "states_by_path" : "states_by_type";
}
