import { printPosition, printComparison, printLocal } from "./print.js";
import type { EvidenceLevel, Plan, PlannedAggregate, PushDown, Scored, Stage } from "./plan.js";
import type { StructuralStep } from "./ports.js";

/** What is known about a query's evaluation beside its text; absent parts are explained both ways. */
export interface ExplainKnowledge {
  readonly scorer?: string | undefined;
  /** Whether the scorer can search for the best nodes (`entailment` cannot). */
  readonly pushesDown?: boolean | undefined;
  readonly topK?: number | undefined;
  readonly exact?: boolean | undefined;
  /** Candidates from which on a search by vectors may be approximate. */
  readonly approximateFrom?: number | "never" | undefined;
}

/** An operator of the plan with what it reads from. */
export type ExplainedOperator =
  | { readonly operator: "root" }
  | {
      readonly operator: "structure";
      readonly steps: string;
      readonly storeCalls: 1;
      readonly input: ExplainedOperator;
    }
  | {
      readonly operator: "evidence";
      readonly aggregates: readonly {
        readonly aggregate: number;
        readonly fold: string;
        readonly path: string;
        /** What the store runs of the path: steps, positions, filters. */
        readonly structure: string;
      }[];
      readonly storeCalls: 1;
      readonly input: ExplainedOperator;
    }
  | {
      readonly operator: "score";
      readonly locals: readonly string[];
      /** Whether nodes that can no longer enter the result are left out. */
      readonly pruned: boolean;
      readonly input: ExplainedOperator;
    }
  | { readonly operator: "fold"; readonly predicates: readonly string[]; readonly input: ExplainedOperator }
  | {
      readonly operator: "search";
      readonly step: string;
      readonly local: string;
      readonly limit: number | undefined;
      readonly approximate: "never" | "above a threshold of candidates";
      /** The threshold, where it is known. */
      readonly threshold?: number;
      readonly input: ExplainedOperator;
    }
  | {
      readonly operator: "cut";
      readonly topK: number | undefined;
      readonly input: ExplainedOperator;
      /** The other way to the same rows, where the knowledge does not decide. */
      readonly otherwise?: { readonly when: string; readonly input: ExplainedOperator };
    };

/** A plan for people and for programs. */
export interface Explanation {
  /** One operator a line, what it reads from indented below it. */
  readonly text: string;
  readonly plan: ExplainedOperator;
}

/** Prints a plan. Touches no data; O(plan). */
export function explain(plan: Plan, knowledge: ExplainKnowledge = {}): Explanation {
  const operator = explainPlan(plan, knowledge);
  return { text: `${lines(operator, knowledge).join("\n")}\n`, plan: operator };
}

function explainPlan(plan: Plan, knowledge: ExplainKnowledge): ExplainedOperator {
  const { topK, pushesDown } = knowledge;
  const stages = explainStages(plan, topK !== undefined && pushesDown === false);
  if (plan.pushDown === undefined || pushesDown === false) return { operator: "cut", topK, input: stages };
  const search = explainSearch(plan.pushDown, knowledge);
  if (topK !== undefined && pushesDown === true) return { operator: "cut", topK, input: search };
  const when =
    pushesDown === true
      ? "topK is not set"
      : topK === undefined
        ? "topK is not set, or the scorer is entailment"
        : "the scorer is entailment";
  return { operator: "cut", topK, input: search, otherwise: { when, input: stages } };
}

function explainStages(plan: Plan, pruned: boolean): ExplainedOperator {
  let input: ExplainedOperator = { operator: "root" };
  for (const [index, stage] of plan.stages.entries()) {
    input = { operator: "structure", steps: stepsText(stage.steps), storeCalls: 1, input };
    for (const level of stage.levels) input = explainEvidence(level, input);
    const locals = localsOf(plan, stage);
    const isLast = index === plan.stages.length - 1;
    if (locals.length > 0) input = { operator: "score", locals, pruned: pruned && isLast, input };
    if (stage.predicates.length > 0) {
      input = { operator: "fold", predicates: stage.predicates.map((scored) => scoredText(plan, scored)), input };
    }
  }
  return input;
}

function explainEvidence(level: EvidenceLevel, input: ExplainedOperator): ExplainedOperator {
  const aggregates = level.aggregates.map(({ index, fold, text, path }) => ({
    aggregate: index,
    fold,
    path: text,
    structure: stepsText(path.steps),
  }));
  return { operator: "evidence", aggregates, storeCalls: 1, input };
}

function explainSearch(search: PushDown, knowledge: ExplainKnowledge): ExplainedOperator {
  const { scorer, topK, exact, approximateFrom } = knowledge;
  const root: ExplainedOperator = { operator: "root" };
  const { prefix, axis, type } = search;
  const input: ExplainedOperator =
    prefix.length === 0 ? root : { operator: "structure", steps: stepsText(prefix), storeCalls: 1, input: root };
  return {
    operator: "search",
    step: stepsText([{ axis, type, position: undefined, comparisons: [] }]),
    local: printLocal(search),
    limit: topK,
    ...(exact === true || approximateFrom === "never" || scorer === "lexical"
      ? { approximate: "never" }
      : {
          approximate: "above a threshold of candidates",
          ...(approximateFrom !== undefined && { threshold: approximateFrom }),
        }),
    input,
  };
}

function localsOf(plan: Plan, stage: Stage): readonly string[] {
  const locals = new Set(stage.uses.map(({ local }) => local));
  return [...locals].map((local) => localText(plan, local));
}

function stepsText(steps: readonly StructuralStep[]): string {
  return steps
    .map(({ axis, type, position, comparisons }) => {
      const place = position === undefined ? "" : printPosition(position);
      const filters = comparisons.map((comparison) => `[${printComparison(comparison)}]`).join("");
      return `${axis === "child" ? "/" : "//"}${type ?? "*"}${place}${filters}`;
    })
    .join("");
}

function scoredText(plan: Plan, scored: Scored): string {
  switch (scored.kind) {
    case "product":
      return `product(${scored.terms.map((term) => scoredText(plan, term)).join(", ")})`;
    case "complement":
      return `1 - ${scoredText(plan, scored.operand)}`;
    case "combine":
      return `${scored.fold}(${scored.terms.map((term) => scoredText(plan, term)).join(", ")})`;
    case "aggregate":
      return `${scored.aggregate.fold} of ${evidenceText(plan, scored.aggregate)}`;
    case "local":
      return localText(plan, scored.local);
    case "comparison":
      return printComparison(scored.comparison);
  }
}

function evidenceText(plan: Plan, { index, links }: PlannedAggregate): string {
  const values = links.flat().map((scored) => scoredText(plan, scored));
  return `aggregate ${index} (${values.length === 0 ? "1" : values.join(", ")})`;
}

function localText(plan: Plan, local: number): string {
  const planned = plan.locals[local];
  return planned === undefined ? "" : printLocal(planned);
}

function lines(operator: ExplainedOperator, knowledge: ExplainKnowledge): readonly string[] {
  const below = (input: ExplainedOperator): readonly string[] => lines(input, knowledge).map((line) => `  ${line}`);
  switch (operator.operator) {
    case "root":
      return ["root {(root, 1)}"];
    case "structure":
      return [`structure ${operator.steps} (one store call)`, ...below(operator.input)];
    case "evidence":
      return [
        "evidence (one store call for all contexts)",
        ...operator.aggregates.map(
          ({ aggregate, fold, path, structure }) => `  aggregate ${aggregate}: ${fold}(${path}) runs ${structure}`,
        ),
        ...below(operator.input),
      ];
    case "score": {
      const scorer = knowledge.scorer ?? "the memory's scorer";
      const pruning = operator.pruned ? ", only nodes that can still enter the result" : "";
      return [`score ${operator.locals.join(", ")} by ${scorer}${pruning}`, ...below(operator.input)];
    }
    case "fold":
      return [`fold weight * ${operator.predicates.join(" * ")}`, ...below(operator.input)];
    case "search": {
      const limit = operator.limit === undefined ? "the best topK" : `the best ${operator.limit}`;
      const { approximate, threshold } = operator;
      const above = threshold === undefined ? approximate : `from ${threshold} candidates on`;
      const index = approximate === "never" ? "exact" : `approximate only ${above}`;
      return [
        `search ${operator.step} for ${limit} by ${operator.local} with ${knowledge.scorer ?? "the memory's scorer"} (${index})`,
        ...below(operator.input),
      ];
    }
    case "cut": {
      const limit = operator.topK === undefined ? "" : `, topK ${operator.topK}`;
      const other = operator.otherwise;
      return [
        `cut by weight, then document order${limit}`,
        ...below(operator.input),
        ...(other === undefined ? [] : [`or, if ${other.when}:`, ...below(other.input)]),
      ];
    }
  }
}
