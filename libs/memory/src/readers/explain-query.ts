import { explain, type Explanation } from "#query";
import type { Memory } from "../memory.js";
import type { CompiledQuery, QueryCompiler } from "./query-compiler.js";

/** Rows of a query that does not say how many it wants. */
const DEFAULT_TOP_K = 10;

/** What is to be explained. */
export interface ExplainRequest {
  readonly query: string;
  /** Names are checked against its schema, and its scorer is assumed; absent: both ways of evaluation are told. */
  readonly memory?: Memory | undefined;
  readonly scorer?: string | undefined;
  readonly topK?: number | undefined;
  readonly exact?: boolean | undefined;
}

/** How a query would be evaluated, as the wire says it. */
export interface ExplainResult extends Explanation, Pick<CompiledQuery, "warnings"> {
  /** Canonical text. */
  readonly query: string;
}

/**
 * The plan of a query, for people and as JSON; reads a schema at most, never a node.
 * @throws EspalierError what `QueryCompiler.compile` throws
 */
export async function explainQuery(compiler: QueryCompiler, request: ExplainRequest): Promise<ExplainResult> {
  const { memory, topK = DEFAULT_TOP_K, exact } = request;
  const compiled = await compiler.compile(request.query, memory);
  const scorer = request.scorer ?? memory?.scoring.scorer;
  const pushesDown = scorer === undefined ? undefined : scorer !== "entailment";
  const explanation = explain(compiled.plan, { scorer, pushesDown, topK, exact });
  return { query: compiled.canonical, ...explanation, warnings: compiled.warnings };
}
