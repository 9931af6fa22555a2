import type { EvidenceLevel, PlannedAggregate } from "./plan.js";
import type { EvidenceRow } from "./ports.js";
import type { NodeTable } from "./node-table.js";

/** The chains of one aggregate, grouped by context: those of rank r are `offsets[r]` to `offsets[r + 1]`. */
export interface Chains {
  readonly offsets: Int32Array;
  /** Node indexes, `links` for each chain; the last of a chain is the evidence node. In document order of that. */
  readonly nodes: Int32Array;
  readonly links: number;
}

/** Evidence of one level: for every context, by rank, the chains of each aggregate. */
export interface EvidenceSet {
  /** Node indexes of the contexts. */
  readonly contexts: Int32Array;
  /** Rank of a node among the contexts, -1 if it is none. By node index; shorter than the table if that grew. */
  readonly ranks: Int32Array;
  /** By aggregate. */
  readonly chains: readonly Chains[];
}

/** Groups the rows of one evidence call by aggregate and context. O(rows), and a sort only where rows are out of order. */
export function groupEvidence(
  level: EvidenceLevel,
  contexts: Int32Array,
  rows: readonly EvidenceRow[],
  table: NodeTable,
): EvidenceSet {
  const ranks = new Int32Array(table.size).fill(-1);
  contexts.forEach((node, rank) => (ranks[node] = rank));
  const byPath: EvidenceRow[][] = level.aggregates.map(() => []);
  for (const row of rows) byPath[row.path]?.push(row);
  const chains = level.aggregates.map((aggregate, path) =>
    chainsOf(aggregate, contexts.length, byPath[path] ?? [], table),
  );
  return { contexts, ranks, chains };
}

function chainsOf(
  aggregate: PlannedAggregate,
  contexts: number,
  rows: readonly EvidenceRow[],
  table: NodeTable,
): Chains {
  const links = aggregate.links.length;
  const offsets = new Int32Array(contexts + 1);
  for (const { context } of rows) offsets[context + 1] = (offsets[context + 1] ?? 0) + 1;
  for (let rank = 0; rank < contexts; rank++) offsets[rank + 1] = (offsets[rank + 1] ?? 0) + (offsets[rank] ?? 0);
  const next = offsets.slice();
  const nodes = new Int32Array(rows.length * links);
  for (const row of inDocumentOrder(rows)) {
    const at = next[row.context] ?? 0;
    next[row.context] = at + 1;
    for (let link = 0; link < links; link++) {
      const node = row.chain[link];
      if (node !== undefined) nodes[at * links + link] = table.intern(node);
    }
  }
  return { offsets, nodes, links };
}

/** By evidence node within a context: sums depend on their order, and stores may order chains differently. */
function inDocumentOrder(rows: readonly EvidenceRow[]): readonly EvidenceRow[] {
  const last = new Map<number, string>();
  const sorted = rows.every((row) => {
    const key = pathKeyOf(row);
    const before = last.get(row.context);
    last.set(row.context, key);
    return before === undefined || before <= key;
  });
  if (sorted) return rows;
  return rows.toSorted((a, b) => {
    const [x, y] = [pathKeyOf(a), pathKeyOf(b)];
    return x < y ? -1 : x > y ? 1 : 0;
  });
}

function pathKeyOf(row: EvidenceRow): string {
  return row.chain.at(-1)?.key.pathKey ?? "";
}

/** Distinct node indexes at one link of an aggregate's chains. O(chains). */
export function nodesAt({ nodes, links }: Chains, link: number, size: number): Int32Array {
  const seen = new Uint8Array(size);
  const distinct = new Int32Array(nodes.length / links);
  let count = 0;
  for (let at = link; at < nodes.length; at += links) {
    const node = nodes[at] ?? 0;
    if (seen[node] === 1) continue;
    seen[node] = 1;
    distinct[count++] = node;
  }
  return distinct.subarray(0, count);
}
