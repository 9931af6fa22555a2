import { Neo4jError } from "neo4j-driver";
import type { EvidenceRequest, EvidenceRow, RunRow, StatementTrace, StructuralRun } from "#query";
import { keptSteps, tooMuchEvidence } from "../evidence-limit.js";
import { byEvidence } from "../evidence-order.js";
import type { Cells, Database } from "./database.js";
import { evidenceStatement, type EvidenceStatement } from "./evidence-statement.js";
import type { Liveness } from "./match-step.js";
import { splitMemory } from "./memory-row.js";
import { nodeColumns, nodeReader } from "./node-columns.js";
import { runStatement } from "./run-statement.js";

/** The memory and the revision that a read is of. */
export interface StructureRead {
  /** The key of the memory's nodes. */
  readonly memory: string;
  readonly liveness: Liveness;
}

/** Where the columns of a chain's nodes begin. */
const FIRST_NODE = 2;

/** What a read found. */
export interface StructureFound<Row> {
  /** The first revision that the head's indexes serve; absent: the memory is not there. */
  readonly purged: number | undefined;
  readonly rows: readonly Row[];
  readonly trace: StatementTrace;
}

/** Executes a structural run: one statement. */
export async function executeRun(
  database: Pick<Database, "query">,
  { memory, liveness }: StructureRead,
  run: StructuralRun,
): Promise<StructureFound<RunRow>> {
  const started = performance.now();
  const { text, parameters, columns, weight } = runStatement(run, memory, liveness);
  const { purged, rows: found } = splitMemory(await database.query(text, parameters));
  const read = nodeReader(run.steps.at(-1), columns);
  const weightPlace = nodeColumns(columns).length;
  const rows = inOrder(
    found.map((row) => Object.assign(read(row), { weight: weight ?? (row.get(weightPlace) as number) })),
  );
  return { purged, rows, trace: { statement: text, rows: rows.length, milliseconds: performance.now() - started } };
}

/** Executes an evidence request: one statement for all contexts and paths. @throws EspalierError `too_much_evidence` */
export async function executeEvidence(
  database: Pick<Database, "query">,
  { memory, liveness }: StructureRead,
  request: EvidenceRequest,
): Promise<StructureFound<EvidenceRow>> {
  const started = performance.now();
  const statement = evidenceStatement(request, memory, liveness);
  const { text, parameters, maximum } = statement;
  const answer = await database.query(text, parameters).catch((error: unknown) => {
    throw isDivisionByZero(error) ? tooMuchEvidence() : error;
  });
  const { purged, rows: found } = splitMemory(answer);
  if (found.length > maximum) throw tooMuchEvidence();
  const rows = evidenceRows(found, request, statement).sort(byEvidence);
  return { purged, rows, trace: { statement: text, rows: rows.length, milliseconds: performance.now() - started } };
}

/** How a statement says that it found too much. */
function isDivisionByZero(error: unknown): boolean {
  return error instanceof Neo4jError && error.code === "Neo.ClientError.Statement.ArithmeticError";
}

function evidenceRows(
  found: readonly Cells[],
  { paths }: EvidenceRequest,
  { columns }: EvidenceStatement,
): EvidenceRow[] {
  const width = nodeColumns(columns).length;
  const readers = paths.map((path) =>
    keptSteps(path).map((step, at) => nodeReader(path.steps[step], columns, FIRST_NODE + at * width)),
  );
  return found.map((row) => {
    const [context, path] = [row.get(0) as number, row.get(1) as number];
    return { context, path, chain: (readers[path] ?? []).map((read) => read(row)) };
  });
}

/** Chains of index ranges mostly come in document order: seeing that costs one comparison a row. */
function inOrder(rows: RunRow[]): readonly RunRow[] {
  const sorted = rows.every((row, index) => index === 0 || (rows[index - 1]?.key.pathKey ?? "") < row.key.pathKey);
  return sorted ? rows : rows.sort((left, right) => (left.key.pathKey < right.key.pathKey ? -1 : 1));
}
