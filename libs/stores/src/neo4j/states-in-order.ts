import type { Transaction } from "./database.js";

/** Where a walk over the states of a memory, of all revisions and by (id, born), is. */
export interface StatePosition {
  readonly id: string;
  readonly born: number;
}

/** Statements of such a walk: more states of the id that a page ended in, and those after it. */
export interface StatesInOrder {
  readonly statesOfId: string;
  readonly statesAfterId: string;
}

/** @param columns of `n`, as they are returned */
export function statesInOrder(columns: string): StatesInOrder {
  const states = (condition: string): string => `
MATCH (n:Node) USING INDEX SEEK n:Node(memory, id, born) WHERE n.memory = $memory AND ${condition}
RETURN ${columns}
ORDER BY n.memory, n.id, n.born LIMIT toInteger($limit)`;
  return {
    statesOfId: states("n.id = $id AND n.born > toInteger($born)"),
    statesAfterId: states("n.id > $id AND n.born >= 0"),
  };
}

/** The next states, `limit` or all that there are; `after` may have what the columns ask for besides. At most two statements. */
export async function statesAfter<Row>(
  transaction: Transaction,
  { statesOfId, statesAfterId }: StatesInOrder,
  after: StatePosition & { readonly memory: string; readonly limit: number } & Readonly<Record<string, unknown>>,
): Promise<readonly Row[]> {
  const ofId = await transaction.run<Row>(statesOfId, { ...after });
  const limit = after.limit - ofId.length;
  if (limit === 0) return ofId;
  return [...ofId, ...(await transaction.run<Row>(statesAfterId, { ...after, limit }))];
}
