import { EspalierError } from "#core";
import type { Entailer } from "#scoring";
import type { Memory, ScorerName } from "../memory.js";
import type { QueryResult } from "../results.js";
import type { MemoryServices } from "../services.js";

const SCORERS: readonly ScorerName[] = ["similarity", "entailment", "lexical", "hybrid"];

/** The scorer of one query with its settings. */
export type Scoring =
  | { readonly scorer: "similarity" | "lexical" }
  | { readonly scorer: "hybrid"; readonly a: number }
  | { readonly scorer: "entailment"; readonly template: string; readonly entailer: Entailer };

/**
 * The scorer that a query names, or else the memory's.
 * @throws EspalierError `unknown_scorer`; `scorer_unavailable` for `entailment` without a model, and the model's own errors
 */
export async function selectScorer(
  name: string | undefined,
  memory: Pick<Memory, "scoring">,
  services: Pick<MemoryServices, "entailer">,
): Promise<Scoring> {
  const scorer = SCORERS.find((known) => known === (name ?? memory.scoring.scorer));
  switch (scorer) {
    case undefined:
      throw new EspalierError(
        "unknown_scorer",
        `Unknown scorer ${JSON.stringify(name?.slice(0, 64).toWellFormed())}.`,
        {
          details: { known: SCORERS },
        },
      );
    case "similarity":
    case "lexical":
      return { scorer };
    case "hybrid":
      return { scorer, a: memory.scoring.a };
    case "entailment":
      if (services.entailer === undefined) {
        throw new EspalierError(
          "scorer_unavailable",
          "No entailment model is configured, so `entailment` cannot score.",
        );
      }
      return { scorer, template: memory.scoring.entailmentTemplate, entailer: await services.entailer() };
  }
}

/** The result's `scoring` block: what its values depend on. */
export function describeScoring(scoring: Scoring, memory: Pick<Memory, "embeddingModel">): QueryResult["scoring"] {
  switch (scoring.scorer) {
    case "similarity":
      return { scorer: scoring.scorer, model: memory.embeddingModel };
    case "lexical":
      return { scorer: scoring.scorer };
    case "hybrid":
      return { scorer: scoring.scorer, model: memory.embeddingModel, a: scoring.a };
    case "entailment":
      return { scorer: scoring.scorer, model: scoring.entailer.model.id, template: scoring.template };
  }
}
