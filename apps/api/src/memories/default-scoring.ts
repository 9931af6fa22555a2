import type { ScoringSettings } from "#memory";

/** The scoring of a memory that says nothing; `a` was measured on LoCoMo (language page, "Scorers"). */
export const DEFAULT_SCORING: ScoringSettings = {
  scorer: "hybrid",
  a: 0.4,
  entailmentTemplate: "This is about {}.",
};
