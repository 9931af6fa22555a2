import type { EvidenceRow } from "#query";

/** By context, path, evidence node, then the other nodes of the chain; nodes in document order. */
export function byEvidence(left: EvidenceRow, right: EvidenceRow): number {
  if (left.context !== right.context) return left.context - right.context;
  if (left.path !== right.path) return left.path - right.path;
  const last = byPath(left, right, left.chain.length - 1);
  if (last !== 0) return last;
  for (let at = 0; at < left.chain.length - 1; at += 1) {
    const order = byPath(left, right, at);
    if (order !== 0) return order;
  }
  return 0;
}

function byPath(left: EvidenceRow, right: EvidenceRow, at: number): number {
  const [one, other] = [left.chain[at]?.key.pathKey ?? "", right.chain[at]?.key.pathKey ?? ""];
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
