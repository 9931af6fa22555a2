/** What a query returned, as far as judging needs. */
export interface JudgedRow {
  readonly path: string;
  readonly score: number;
}

/** How a request ended. */
export interface Verdict {
  readonly pass: boolean;
  /** Right nodes that are not among the first |right| rows. */
  readonly missing: readonly string[];
  /** Wrong nodes among them, or tied with the last of them. */
  readonly intruders: readonly string[];
}

/**
 * Exactly the right nodes on top: the first |right| rows are the right set, and the next row scores less. A tie across
 * that line is a miss, because only document order would have put the right node first.
 */
export function judge(rows: readonly JudgedRow[], right: readonly string[]): Verdict {
  const wanted = new Set(right);
  const lowest = rows[right.length - 1]?.score;
  const top = rows.filter((row, index) => index < right.length || row.score === lowest);
  const leading = rows.slice(0, right.length);
  const missing = right.filter((path) => !leading.some((row) => row.path === path));
  const intruders = top.filter((row) => !wanted.has(row.path)).map((row) => row.path);
  return { pass: missing.length === 0 && intruders.length === 0, missing, intruders };
}
