import { EspalierError } from "#core";
import type { EntailmentProbabilities } from "#scoring";

const NAMES = ["entailment", "neutral", "contradiction"] as const;
type LabelName = (typeof NAMES)[number];

/** Index of each label in a model's outputs. */
export type EntailmentLabels = Readonly<Record<LabelName, number>>;

/**
 * Maps a classifier's labels by name, case ignored.
 * @throws `scorer_unavailable` naming the labels unless they are exactly entailment, neutral and contradiction.
 */
export function mapEntailmentLabels(model: string, labels: readonly string[]): EntailmentLabels {
  const names = labels.map((label) => label.toLowerCase());
  if (names.length !== NAMES.length || !NAMES.every((name) => names.includes(name))) {
    throw new EspalierError(
      "scorer_unavailable",
      `The model ${model} has the labels ${labels.join(", ") || "(none)"}; entailment needs a classifier with ${NAMES.join(", ")}: choose another model, or name its labels so in id2label.`,
      { details: { model, labels } },
    );
  }
  const [entailment, neutral, contradiction] = NAMES.map((name) => names.indexOf(name)) as [number, number, number];
  return { entailment, neutral, contradiction };
}

/** One probability per label of the model's order, by their names. */
export function namedProbabilities(
  probabilities: readonly number[],
  labels: EntailmentLabels,
): EntailmentProbabilities {
  const of = (name: LabelName): number => probabilities[labels[name]] ?? Number.NaN;
  return { entailment: of("entailment"), neutral: of("neutral"), contradiction: of("contradiction") };
}
