import type { MemoryScope } from "#core";
import type { RelevanceSource } from "#query";
import { EntailmentScorer, HybridScorer, LexicalScorer, type Scorer, type ScorerRun, SimilarityScorer } from "#scoring";
import type { MemoryServices, RunContext } from "../services.js";
import { BoundLexical, type EnsureIndexed, isPast } from "./bound-lexical.js";
import { BoundTexts } from "./bound-texts.js";
import { BoundVectors } from "./bound-vectors.js";
import type { LostPoints } from "./lost-points.js";
import type { RefusedTexts } from "./refused-texts.js";
import type { Scoring } from "./select-scorer.js";
import type { Snapshot } from "./snapshot.js";
import type { Views } from "./views.js";

/** How a query runs, and where it tells what its scoring could not do. */
export interface RelevanceContext extends RunContext {
  readonly refused: RefusedTexts;
}

/** What outlives a query and is shared by all of a process. */
export interface SharedReads {
  readonly views: Views;
  readonly ensureIndexed: EnsureIndexed;
  /** Present where trees and vectors lie apart. */
  readonly lost?: LostPoints;
}

/**
 * Rel of one snapshot under one scorer: the scorer's own sources, bound to the memory, the revision and the model.
 * Errors: `model_unknown`, and later what scoring throws.
 */
export async function createRelevance(
  services: MemoryServices,
  snapshot: Snapshot,
  scoring: Scoring,
  shared: SharedReads,
  context: RelevanceContext,
): Promise<RelevanceSource> {
  const { memory, scope } = snapshot;
  const run: ScorerRun = {
    now: () => services.clock.now(),
    signal: context.signal,
    onProgress: context.progress,
    onRefused: (field, states) => {
      context.refused.add(field, states);
    },
  };
  const texts = new BoundTexts(services.tree, snapshot);
  const lexical = (): BoundLexical => new BoundLexical(services.lexical, snapshot, { ...shared, texts });
  const similarity = async (): Promise<ConstructorParameters<typeof SimilarityScorer>[0]> => ({
    embedder: await services.embeddingModels.get(memory.embeddingModel),
    vectors: new BoundVectors(services.vectors, snapshot, shared.views),
    embeddingCache: services.caches.embeddings(scope.tenant),
  });
  const mended = (scorer: RelevanceSource): RelevanceSource => afterMending(scorer, scope, shared.lost);
  switch (scoring.scorer) {
    case "similarity":
      return mended(new SimilarityScorer(await similarity(), run));
    case "lexical":
      return mended(withoutPast(new LexicalScorer({ lexical: lexical() }, run), snapshot));
    case "hybrid": {
      const sources = { ...(await similarity()), lexical: lexical(), a: scoring.a };
      return mended(withoutPast(new HybridScorer(sources, run), snapshot));
    }
    case "entailment": {
      const { entailer, template } = scoring;
      const entailmentCache = services.caches.entailments(scope.tenant);
      return new EntailmentScorer({ entailer, texts, template, entailmentCache }, run);
    }
  }
}

/** Before the first point is read. A query that scores nothing needs no vector store. */
function afterMending(scorer: RelevanceSource, scope: MemoryScope, lost: LostPoints | undefined): RelevanceSource {
  if (lost === undefined) return scorer;
  return {
    pushesDown: scorer.pushesDown,
    relevance: async (request) => {
      await lost.mend(scope);
      return scorer.relevance(request);
    },
    topK: async (request) => {
      await lost.mend(scope);
      return scorer.topK(request);
    },
  };
}

/** An index of an attribute's terms does not know states that had ended before it was made: the past is scored node by node. */
function withoutPast(scorer: Scorer, snapshot: Snapshot): RelevanceSource {
  if (!isPast(snapshot)) return scorer;
  return {
    pushesDown: false,
    relevance: (request) => scorer.relevance(request),
    topK: (request) => scorer.topK(request),
  };
}
