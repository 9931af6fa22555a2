export type * from "./ast.js";
export { compare, compareCodePoints, comparedValue, holds, numericValue } from "./compare.js";
export type { CutOptions } from "./cut.js";
export {
  evaluate,
  type EvaluateOptions,
  type EvaluateSources,
  type EvaluatedRow,
  type Evaluation,
} from "./evaluate.js";
export { compareInstants, parseInstant, type Instant } from "./instant.js";
export { nearNames } from "./near-names.js";
export { parse, type ParsedQuery } from "./parse.js";
export * from "./plan.js";
export type * from "./ports.js";
export { selectPositions } from "./position.js";
export { print, printPosition, printRelevance, printStep } from "./print.js";
export type { EvaluatedEvidence } from "./row-evidence.js";
export type { QuerySchema } from "./schema-index.js";
export type * from "./trace.js";
export { validate } from "./validate.js";
export { explain, type ExplainedOperator, type ExplainKnowledge, type Explanation } from "./explain.js";
export { limitWarnings } from "./limit-warnings.js";
export type { QueryWarning } from "./warning.js";
