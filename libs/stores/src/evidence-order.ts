import type { EvidenceRow } from "#query";

/** By context, path, evidence node, then the other nodes of the chain; nodes in document order. */
export function byEvidence(left: EvidenceRow, right: EvidenceRow): number {
  if (left.context !== right.context) return left.context - right.context;
  if (left.path !== right.path) return left.path - right.path;
  const [leftPaths, rightPaths] = [chainPaths(left), chainPaths(right)];
  const index = leftPaths.findIndex((path, at) => path !== rightPaths[at]);
  if (index < 0) return 0;
  return (leftPaths[index] ?? "") < (rightPaths[index] ?? "") ? -1 : 1;
}

function chainPaths({ chain }: EvidenceRow): readonly string[] {
  const paths = chain.map(({ key }) => key.pathKey);
  return [paths.at(-1) ?? "", ...paths];
}
