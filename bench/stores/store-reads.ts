/** Reads of the tree Root -> Shelf -> Box -> Item, with Labels on the first shelf, and the same by hand. */
import type { EvidenceRequest, Position, StructuralStep } from "#query";
import type { RawContext, RawQuery } from "./store-engine.js";

/** A read, as the store is asked and as one would write it by hand. */
export type StoreRead = { readonly name: string; readonly raw: RawQuery } & (
  | { readonly kind: "run"; readonly steps: readonly StructuralStep[] }
  | { readonly kind: "evidence"; readonly request: EvidenceRequest }
);

const CYPHER_COLUMNS = "n.id, n.born, n.type, n.parent, n.pathKey, n.depth";
const SQL_COLUMNS = "n.id, n.born, n.type, n.parent, n.path, n.depth";
const SQL_MEMORY = "(SELECT row FROM memories WHERE id = :memory)";

const step = (axis: StructuralStep["axis"], type: string, position?: Position): StructuralStep => ({
  ...{ axis, type, position, comparisons: [] },
});

const cypherOf = (type: string, rest: string): string =>
  `MATCH (n:Node) WHERE n.live = $memory AND n.type = '${type}' AND n.pathKey > '' ${rest}`;
const sqlOf = (type: string, rest: string): string =>
  `SELECT ${SQL_COLUMNS} FROM states n WHERE n.memory = ${SQL_MEMORY} AND n.type = '${type}' AND n.head = 1 ${rest}`;
const CYPHER_ORDER = "ORDER BY n.live, n.type, n.pathKey";
const CYPHER_LAST = "ORDER BY n.live DESC, n.type DESC, n.pathKey DESC";

/** @param contexts boxes of which evidence is wanted */
export function storeReads(contexts: readonly RawContext[]): readonly StoreRead[] {
  return [
    {
      ...{ kind: "run", name: "//Label", steps: [step("descendant", "Label")] },
      raw: {
        cypher: cypherOf("Label", `RETURN ${CYPHER_COLUMNS} ${CYPHER_ORDER}`),
        sql: sqlOf("Label", "ORDER BY n.path"),
      },
    },
    {
      ...{ kind: "run", name: "//Item", steps: [step("descendant", "Item")] },
      raw: {
        cypher: cypherOf("Item", `RETURN ${CYPHER_COLUMNS} ${CYPHER_ORDER}`),
        sql: sqlOf("Item", "ORDER BY n.path"),
      },
    },
    {
      ...{ kind: "run", name: "//Item[-100:]" },
      steps: [step("descendant", "Item", { kind: "range", from: -100, to: undefined })],
      raw: {
        cypher: cypherOf("Item", `RETURN ${CYPHER_COLUMNS} ${CYPHER_LAST} LIMIT 100`),
        sql: sqlOf("Item", "ORDER BY n.path DESC LIMIT 100"),
      },
    },
    {
      ...{ kind: "run", name: "//Shelf//Box", steps: [step("descendant", "Shelf"), step("descendant", "Box")] },
      raw: {
        cypher: `MATCH (a:Node) WHERE a.live = $memory AND a.type = 'Shelf' AND a.pathKey > '' WITH a
          ${cypherOf("Box", `AND n.pathKey STARTS WITH a.pathKey + '.' RETURN ${CYPHER_COLUMNS}`)}`,
        sql: `SELECT ${SQL_COLUMNS} FROM states a CROSS JOIN states n
          WHERE a.memory = ${SQL_MEMORY} AND a.type = 'Shelf' AND a.head = 1
          AND n.memory = a.memory AND n.type = 'Box' AND n.head = 1 AND n.path > a.path || '.' AND n.path < a.path || '/'`,
      },
    },
    {
      ...{ kind: "evidence", name: `/Item[1] of ${contexts.length} boxes` },
      request: {
        ...{ contexts, values: false },
        paths: [{ steps: [step("child", "Item", { kind: "index", index: 1 })], keep: [true] }],
      },
      raw: {
        parameters: { contexts },
        cypher: `UNWIND $contexts AS c CALL (c) { ${cypherOf("Item", "AND n.pathKey STARTS WITH c.pathKey + '.'")}
          RETURN n ${CYPHER_ORDER} LIMIT 1 } RETURN c.id, ${CYPHER_COLUMNS}`,
        sql: `SELECT c.value ->> 'id', ${SQL_COLUMNS} FROM json_each(:contexts) c CROSS JOIN states n
          WHERE n.row = (SELECT i.row FROM states i WHERE i.memory = ${SQL_MEMORY} AND i.type = 'Item' AND i.head = 1
          AND i.path > (c.value ->> 'pathKey') || '.' ORDER BY i.path LIMIT 1)`,
      },
    },
    {
      ...{ kind: "evidence", name: `/Item of ${contexts.length} boxes` },
      request: { contexts, values: false, paths: [{ steps: [step("child", "Item")], keep: [true] }] },
      raw: {
        parameters: { contexts },
        cypher: `UNWIND $contexts AS c ${cypherOf("Item", "AND n.pathKey STARTS WITH c.pathKey + '.'")}
          RETURN c.id, ${CYPHER_COLUMNS}`,
        sql: `SELECT c.value ->> 'id', ${SQL_COLUMNS} FROM json_each(:contexts) c CROSS JOIN states n
          WHERE n.memory = ${SQL_MEMORY} AND n.type = 'Item' AND n.head = 1
          AND n.path > (c.value ->> 'pathKey') || '.' AND n.path < (c.value ->> 'pathKey') || '/'`,
      },
    },
  ];
}
