import { LIMITS, type NodeState } from "#core";
import type { EvaluatedRow } from "#query";
import type { TreeStore } from "../ports/tree-store.js";
import type { QueryRequest, ResultRow } from "../results.js";
import type { Snapshot } from "./snapshot.js";
import { toSubtree } from "./subtree.js";

/** The rows of a result with what they cost. */
export interface BuiltRows {
  readonly rows: readonly ResultRow[];
  readonly tokens: number;
  /** `maxTokens` or a limit dropped rows or subtree nodes. */
  readonly truncated: boolean;
}

interface Candidate {
  readonly match: EvaluatedRow;
  readonly node: NodeState;
  readonly tokens: number;
  readonly subtree: readonly NodeState[] | undefined;
}

/**
 * Matches as rows of the wire: states, texts' tokens, subtrees, the cut by `maxTokens` at the first row that does not fit,
 * then paths and evidence. At most three store calls whatever the number of rows (states, subtrees, paths), each of a
 * bounded number of statements.
 */
export async function buildRows(
  store: TreeStore,
  { scope, revision }: Snapshot,
  request: Pick<QueryRequest, "include" | "maxTokens">,
  matches: readonly EvaluatedRow[],
): Promise<BuiltRows> {
  const ids = matches.map(({ key }) => key.id);
  if (ids.length === 0) return { rows: [], tokens: 0, truncated: false };
  const states = new Map((await store.nodes(scope, revision, ids)).map((node) => [node.id, node]));
  const subtrees = request.include.includes("subtree")
    ? await store.subtrees(scope, revision, ids, LIMITS.subtreeNodes)
    : undefined;
  const candidates = matches.flatMap((match): readonly Candidate[] => {
    const node = states.get(match.key.id);
    if (node === undefined) return [];
    const subtree = subtrees?.nodes.get(match.key.id);
    const tokens = subtree === undefined ? node.tokens : subtree.reduce((sum, each) => sum + each.tokens, 0);
    return [{ match, node, tokens, subtree }];
  });
  const fitting = cut(candidates, request.maxTokens);
  const shown = request.include.includes("evidence")
    ? new Set(fitting.flatMap(({ match }) => [match.key.id, ...match.evidence.map(({ key }) => key.id)]))
    : new Set(fitting.map(({ match }) => match.key.id));
  const paths = await store.paths(scope, revision, [...shown]);
  const rows = fitting.map((candidate) => toRow(candidate, request, paths));
  return {
    rows,
    tokens: rows.reduce((sum, row) => sum + row.tokens, 0),
    truncated:
      fitting.length < candidates.length ||
      fitting.some(({ match }) => subtrees?.truncated.includes(match.key.id) ?? false),
  };
}

function toRow(
  { match, node, tokens, subtree }: Candidate,
  { include }: Pick<QueryRequest, "include">,
  paths: ReadonlyMap<string, string>,
): ResultRow {
  const pathOf = (id: string): string => paths.get(id) ?? "";
  const { id, type, attributes, metadata } = node;
  const evidence = match.evidence.map(({ aggregate, key, score }) => ({
    ...{ aggregate, id: key.id, path: pathOf(key.id), score },
  }));
  const root = subtree && toSubtree(subtree);
  return {
    ...{ id, type, path: pathOf(id), attributes, metadata, score: match.score, tokens },
    ...(include.includes("evidence") && { evidence }),
    ...(root !== undefined && { subtree: root }),
  };
}

/** The rows before the first that does not fit. */
function cut(candidates: readonly Candidate[], maxTokens: number | undefined): readonly Candidate[] {
  if (maxTokens === undefined) return candidates;
  let tokens = 0;
  const end = candidates.findIndex((candidate) => {
    tokens += candidate.tokens;
    return tokens > maxTokens;
  });
  return end < 0 ? candidates : candidates.slice(0, end);
}
