/**
 * A query from text to rows: parsed and planned (cached by text), validated against the memory's schema (cached by schema
 * version), evaluated on one pinned revision, and its rows fetched.
 *
 * Store calls of a query, whatever the number of its rows: the memory (1), its schema when it changed (1), what the plan
 * needs (one per stage and nesting level of aggregates, and what its scorer asks once per distinct Local), and the rows
 * (3). Vectors that are missing cost a read and a write per LIMITS.cacheKeys of them, once.
 */
import { EspalierError, LIMITS, type MemoryScope } from "#core";
import { evaluate, type StructureSource } from "#query";
import { indexField } from "../maintenance/index-field.js";
import type { Memory } from "../memory.js";
import type { QueryRequest, QueryResult } from "../results.js";
import type { MemoryServices, RunContext } from "../services.js";
import { liesApart } from "../outbox/apart-services.js";
import { buildRows } from "./build-rows.js";
import { createRelevance, type SharedReads } from "./create-relevance.js";
import { RefusedTexts } from "./refused-texts.js";
import { LostPoints } from "./lost-points.js";
import { QueryCompiler } from "./query-compiler.js";
import { describeScoring, selectScorer } from "./select-scorer.js";
import type { Snapshot } from "./snapshot.js";
import { Views } from "./views.js";

export interface ReaderOptions {
  /** Hears that the vector store lost points of a memory, which is being mended: it is likely to have lost others. */
  readonly onLostPoints?: (scope: MemoryScope) => void;
}

/** Answers queries; one per process, for its caches. */
export class Reader {
  readonly #compiler: QueryCompiler;
  readonly #shared: SharedReads;

  constructor(
    private readonly services: MemoryServices,
    { onLostPoints = () => undefined }: ReaderOptions = {},
  ) {
    this.#compiler = new QueryCompiler(services.tree);
    const views = new Views(services);
    this.#shared = {
      views,
      ensureIndexed: ({ scope }, field) => indexField(services, scope, field),
      ...(liesApart(services) && { lost: new LostPoints(services, { views, onLost: onLostPoints }) }),
    };
  }

  /**
   * @throws EspalierError the parser's and the validator's, `memory_not_found`, `invalid_request` (`asOf` beyond the head),
   * `unknown_scorer`, `scorer_unavailable`, the model's and the store's, `cancelled`
   */
  async query(scope: MemoryScope, request: QueryRequest, context: RunContext = {}): Promise<QueryResult> {
    for (let attempt = 1; ; attempt += 1) {
      const memory = await this.services.tree.getMemory(scope);
      try {
        const result = await this.#answer({ scope, memory }, request, context);
        const readPoints = result.scoring.scorer !== "entailment";
        if (!readPoints || !(await this.#hasLeft(scope, memory))) return result;
      } catch (error) {
        if (attempt >= LIMITS.commitAttempts || !(await this.#hasLeft(scope, memory))) throw error;
      }
    }
  }

  /**
   * Whether a memory left its model while a query read it. Where vectors lie apart the old ones, and the term weights beside
   * them, can go under a query, which is then answered anew.
   */
  async #hasLeft(scope: MemoryScope, { embeddingModel }: Memory): Promise<boolean> {
    const { tree, apart } = this.services;
    return apart !== undefined && (await tree.getMemory(scope)).embeddingModel !== embeddingModel;
  }

  async #answer(
    { scope, memory }: Pick<Snapshot, "scope" | "memory">,
    request: QueryRequest,
    context: RunContext,
  ): Promise<QueryResult> {
    const { services } = this;
    const snapshot: Snapshot = { scope, memory, revision: pin(memory, request.asOf) };
    const scoring = await selectScorer(request.scorer, memory, services);
    const { plan, canonical, warnings } = await this.#compiler.compile(
      request.query,
      request.validate ? memory : undefined,
    );
    const refused = new RefusedTexts();
    const relevance = await createRelevance(services, snapshot, scoring, this.#shared, { ...context, refused });
    const evaluation = await evaluate(
      plan,
      { structure: structureOf(services, snapshot), relevance },
      {
        topK: request.topK,
        minScore: request.minScore,
        minRatio: request.minRatio,
        exact: request.exact,
        evidence: request.include.includes("evidence"),
        evidenceLimit: LIMITS.evidenceRows,
        trace: request.trace,
        signal: context.signal,
      },
    );
    const built = await buildRows(services.tree, snapshot, request, evaluation.rows);
    return {
      query: canonical,
      revision: snapshot.revision,
      truncated: built.truncated || evaluation.evidenceCut || evaluation.more,
      warnings: [...warnings, ...refused.warnings(memory)],
      scoring: describeScoring(scoring, memory),
      rows: built.rows,
      tokens: built.tokens,
      ...(evaluation.trace !== undefined && { trace: evaluation.trace }),
    };
  }
}

function pin(memory: Memory, asOf: number | undefined): number {
  if (asOf === undefined || asOf <= memory.revision) return asOf ?? memory.revision;
  const problem = `asOf is revision ${asOf}, but the memory is at revision ${memory.revision}`;
  throw new EspalierError("invalid_request", `${problem}.`, {
    details: { revision: memory.revision, errors: [{ path: "asOf", message: problem }] },
  });
}

function structureOf({ tree }: MemoryServices, { scope, revision }: Snapshot): StructureSource {
  return {
    run: (run) => tree.run(scope, revision, run),
    evidence: (request) => tree.evidence(scope, revision, request),
  };
}
