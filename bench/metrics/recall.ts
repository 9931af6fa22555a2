/** Share of the gold ids among the first `k` ranked ids; `gold` is not empty. A repeated id counts once. */
export function recallAt(ranked: readonly string[], gold: ReadonlySet<string>, k: number): number {
  const found = new Set(ranked.slice(0, k).filter((id) => gold.has(id)));
  return found.size / gold.size;
}

/** A ranked row with the tokens that its text costs. */
export interface CostedRow {
  readonly id: string;
  readonly tokens: number;
}

/** Share of the gold ids among the leading rows that fit into `budget` tokens: as `maxTokens`, it ends before the first that does not fit. */
export function recallWithinTokens(rows: readonly CostedRow[], gold: ReadonlySet<string>, budget: number): number {
  let left = budget;
  const end = rows.findIndex(({ tokens }) => (left -= tokens) < 0);
  const taken = end === -1 ? rows : rows.slice(0, end);
  return recallAt(
    taken.map(({ id }) => id),
    gold,
    taken.length,
  );
}

/** The groups of ranked items, each at the place of its best item. */
export function rankGroups(ranked: readonly string[], groupOf: (id: string) => string): readonly string[] {
  return [...new Set(ranked.map(groupOf))];
}
