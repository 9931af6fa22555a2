import type { EvidenceRequest, EvidenceRow, RunRow, StatementTrace, StructuralRun } from "#query";
import { byEvidence } from "../evidence-order.js";
import type { Connection } from "./connection.js";
import { countOfType } from "./schema.js";
import { tooMuchEvidence } from "../evidence-limit.js";
import { evidenceStatement, OVERFLOW } from "./evidence-statement.js";
import type { MemoryHead } from "./memories.js";
import { runStatement } from "./run-statement.js";
import { keyOf, type KeyTuple, KEY_WIDTH, type Liveness, valuesOf } from "./states.js";

type Cell = string | number | null;

/** Executes a structural run: one statement. */
export function executeRun(
  connection: Connection,
  memory: MemoryHead,
  liveness: Liveness,
  run: StructuralRun,
): { readonly rows: readonly RunRow[]; readonly trace: StatementTrace } {
  const started = performance.now();
  if (run.contexts !== "root" && run.contexts.length === 0) return { rows: [], trace: notSent(started) };
  const countNodes = (type: string | undefined): number => countOfType(connection, memory, type);
  const { sql, parameters, weight } = runStatement(run, memory.row, liveness, countNodes);
  const tuples = connection.tuples<readonly Cell[]>(sql, parameters);
  const rows = inOrder(tuples.map((tuple) => runRow(tuple, run.values, weight)));
  return { rows, trace: { statement: sql, rows: rows.length, milliseconds: performance.now() - started } };
}

/** Executes an evidence request: one statement for all contexts and paths. */
export function executeEvidence(
  connection: Connection,
  memory: number,
  liveness: Liveness,
  request: EvidenceRequest,
): { readonly rows: readonly EvidenceRow[]; readonly trace: StatementTrace } {
  const started = performance.now();
  if (request.contexts.length === 0 || request.paths.length === 0) return { rows: [], trace: notSent(started) };
  const { sql, parameters, nodeWidth, maximum } = evidenceStatement(request, memory, liveness);
  const tuples = connection.tuples<readonly Cell[]>(sql, parameters);
  if (tuples.length > maximum || tuples[0]?.[0] === OVERFLOW) throw tooMuchEvidence();
  const rows = tuples.map((tuple) => evidenceRow(tuple, nodeWidth)).sort(byEvidence);
  return { rows, trace: { statement: sql, rows: rows.length, milliseconds: performance.now() - started } };
}

function notSent(started: number): StatementTrace {
  return { statement: "none: no contexts", rows: 0, milliseconds: performance.now() - started };
}

function runRow(tuple: readonly Cell[], values: boolean, weight: number | undefined): RunRow {
  const key = keyOf(tuple as unknown as KeyTuple);
  return {
    key,
    weight: weight ?? (tuple.at(-1) as number),
    ...(values && valuesOf(tuple[KEY_WIDTH] as string, tuple[KEY_WIDTH + 1] as string)),
  };
}

function evidenceRow(tuple: readonly Cell[], nodeWidth: number): EvidenceRow {
  const chain: EvidenceRow["chain"][number][] = [];
  for (let at = 2; at < tuple.length && tuple[at] !== null; at += nodeWidth) {
    const node = tuple.slice(at, at + nodeWidth);
    chain.push({
      key: keyOf(node as unknown as KeyTuple),
      ...(nodeWidth > KEY_WIDTH && valuesOf(node[KEY_WIDTH] as string, node[KEY_WIDTH + 1] as string)),
    });
  }
  return { context: tuple[0] as number, path: tuple[1] as number, chain };
}

/**
 * Chains of index ranges come in document order, the last nodes of one in reverse: both cost a comparison a row, for one run in
 * either direction is all that the sort finds then.
 */
function inOrder(rows: RunRow[]): readonly RunRow[] {
  const sorted = rows.every((row, index) => index === 0 || (rows[index - 1]?.key.pathKey ?? "") < row.key.pathKey);
  return sorted ? rows : rows.sort((left, right) => (left.key.pathKey < right.key.pathKey ? -1 : 1));
}
