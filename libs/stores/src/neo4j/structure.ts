import { Neo4jError } from "neo4j-driver";
import type { EvidenceRequest, EvidenceRow, RunRow, StatementTrace, StructuralRun } from "#query";
import { keptSteps, tooMuchEvidence } from "../evidence-limit.js";
import { byEvidence } from "../evidence-order.js";
import type { Transaction } from "./database.js";
import { evidenceStatement } from "./evidence-statement.js";
import type { Liveness } from "./match-step.js";
import { nodeReader, type Row } from "./node-columns.js";
import { runStatement } from "./run-statement.js";

/** The memory and the revision that a read is of. */
export interface StructureRead {
  /** The key of the memory's nodes. */
  readonly memory: string;
  readonly liveness: Liveness;
}

/** Executes a structural run: one statement. */
export async function executeRun(
  transaction: Transaction,
  { memory, liveness }: StructureRead,
  run: StructuralRun,
): Promise<{ readonly rows: readonly RunRow[]; readonly trace: StatementTrace }> {
  const started = performance.now();
  if (run.contexts !== "root" && run.contexts.length === 0) return { rows: [], trace: notSent(started) };
  const { text, parameters, weight } = runStatement(run, memory, liveness);
  const found = await transaction.run<Row>(text, parameters);
  const read = nodeReader(run);
  const rows = inOrder(found.map((row) => Object.assign(read(row), { weight: weight ?? (row["weight"] as number) })));
  return { rows, trace: { statement: text, rows: rows.length, milliseconds: performance.now() - started } };
}

/** Executes an evidence request: one statement for all contexts and paths. @throws EspalierError `too_much_evidence` */
export async function executeEvidence(
  transaction: Transaction,
  { memory, liveness }: StructureRead,
  request: EvidenceRequest,
): Promise<{ readonly rows: readonly EvidenceRow[]; readonly trace: StatementTrace }> {
  const started = performance.now();
  if (request.contexts.length === 0 || request.paths.length === 0) return { rows: [], trace: notSent(started) };
  const { text, parameters, maximum } = evidenceStatement(request, memory, liveness);
  const found = await transaction.run<Row>(text, parameters).catch((error: unknown) => {
    throw isDivisionByZero(error) ? tooMuchEvidence() : error;
  });
  if (found.length > maximum) throw tooMuchEvidence();
  const rows = evidenceRows(found, request).sort(byEvidence);
  return { rows, trace: { statement: text, rows: rows.length, milliseconds: performance.now() - started } };
}

function notSent(started: number): StatementTrace {
  return { statement: "none: no contexts", rows: 0, milliseconds: performance.now() - started };
}

/** How a statement says that it found too much. */
function isDivisionByZero(error: unknown): boolean {
  return error instanceof Neo4jError && error.code === "Neo.ClientError.Statement.ArithmeticError";
}

function evidenceRows(found: readonly Row[], { paths, values }: EvidenceRequest): EvidenceRow[] {
  const readers = paths.map((path) => keptSteps(path).map((_, at) => nodeReader({ values, suffix: String(at) })));
  return found.map((row) => {
    const [context, path] = [row["context"] as number, row["path"] as number];
    return { context, path, chain: (readers[path] ?? []).map((read) => read(row)) };
  });
}

/** Chains of index ranges mostly come in document order: seeing that costs one comparison a row. */
function inOrder(rows: RunRow[]): readonly RunRow[] {
  const sorted = rows.every((row, index) => index === 0 || (rows[index - 1]?.key.pathKey ?? "") < row.key.pathKey);
  return sorted ? rows : rows.sort((left, right) => (left.key.pathKey < right.key.pathKey ? -1 : 1));
}
