import { colors } from "./colors.js";
import { printValue, type Attributes } from "#core";
import type { QueryResult, ResultRow, SubtreeNode } from "#memory";
import { cut, table } from "./output.js";

/** The answer of a query over HTTP. */
export interface QueryAnswer extends QueryResult {
  readonly job: string;
  readonly timings: { readonly queuedMs: number; readonly runMs: number };
}

/** Characters of attributes in a row of the table, and evidence rows shown under it. */
const ATTRIBUTE_CHARACTERS = 100;
const EVIDENCE_ROWS = 3;
/** Nodes shown of what lies below a row, in document order. */
const SUBTREE_NODES = 50;

/** The rows of an answer as a table, with the best evidence under each row. */
export function queryTable(answer: QueryAnswer): string {
  if (answer.rows.length === 0) return "no rows";
  return table(["score", "path", "type", "attributes"], answer.rows.flatMap(linesOf));
}

function linesOf(row: ResultRow): string[][] {
  const evidence = [...(row.evidence ?? [])].sort((a, b) => b.score - a.score);
  const shown = evidence
    .slice(0, EVIDENCE_ROWS)
    .map(({ score, path }) => [colors.dim(`  ${score.toFixed(3)}`), colors.dim(`  ${path}`), "", ""]);
  const left = evidence.length - shown.length;
  const subtree = row.subtree === undefined ? [] : subtreeLines(row.subtree.children, 1);
  const hidden = subtree.length - SUBTREE_NODES;
  return [
    [row.score.toFixed(3), row.path, row.type, attributesText(row.attributes)],
    ...shown,
    ...(left > 0 ? [["", colors.dim(`  and ${left} more`), "", ""]] : []),
    ...subtree.slice(0, SUBTREE_NODES),
    ...(hidden > 0 ? [["", "", "", `and ${hidden} more below it: --json has all`]] : []),
  ];
}

/** A line for each node, its type indented by its depth. */
function subtreeLines(nodes: readonly SubtreeNode[], depth: number): string[][] {
  return nodes.flatMap(({ type, attributes, children }) => [
    ["", "", `${"  ".repeat(depth)}${type}`, attributesText(attributes)],
    ...subtreeLines(children, depth + 1),
  ]);
}

function attributesText(attributes: Attributes): string {
  const text = Object.entries(attributes)
    .map(([name, value]) => `${name}: ${printValue(value)}`)
    .join("; ");
  return cut(text, ATTRIBUTE_CHARACTERS);
}

/** The line under a table: how many rows, by which scorer, how long it ran, how many tokens. */
export function queryFooter(answer: QueryAnswer): string {
  const { rows, scoring, tokens, timings, truncated, revision } = answer;
  const parts = [
    `${rows.length} row${rows.length === 1 ? "" : "s"}`,
    `scorer ${scoring.scorer}`,
    `revision ${revision}`,
    `${tokens} tokens`,
    `${timings.runMs.toFixed(1)} ms`,
    ...(truncated ? ["truncated"] : []),
  ];
  return parts.join(", ");
}
