/**
 * From syntax tree to operators. The trunk is a list of stages, folded left to right: a **structural run** (one store call
 * for as many steps as have only positions and whole-bracket comparisons, plus the structural part of the next step), then,
 * if that last step has scored brackets, **evidence** (one store call per nesting level of aggregates), **score** (one
 * request per distinct Local) and **fold** (weights). **Cut** sorts and cuts the last set. The branches are the aggregates.
 */
import type { Aggregate, Comparison, Fold, Query, Relevance, Step } from "./ast.js";
import type { EvidencePath, StructuralStep } from "./ports.js";
import { print } from "./print.js";

/** What evaluates a query; depends on its syntax tree only. Frozen. */
export interface Plan {
  readonly query: Query;
  /** Canonical text. */
  readonly text: string;
  /** At least one. */
  readonly stages: readonly Stage[];
  /** Distinct Locals of the whole query; their values are kept under their index. */
  readonly locals: readonly PlannedLocal[];
  /** Aggregates of the whole query. */
  readonly aggregates: number;
  /** How the query can be answered by a search for the best nodes; only used when `topK` is set and the scorer can. */
  readonly pushDown: PushDown | undefined;
}

/** A structural run, and the scored brackets of its last step. */
export interface Stage {
  /** Index of the run's first step in the query. */
  readonly firstStep: number;
  readonly steps: readonly StructuralStep[];
  /** Whether the candidates' values are compared here. */
  readonly values: boolean;
  /** Scored brackets of the last step; they multiply. Empty only in the last stage. */
  readonly predicates: readonly Scored[];
  /** `levels[0]`: aggregates of the candidates; `levels[n]`: aggregates inside those of `levels[n - 1]`. */
  readonly levels: readonly EvidenceLevel[];
  /** Which nodes are scored by which Local. */
  readonly uses: readonly LocalUse[];
}

/** A distinct (field, text). */
export interface PlannedLocal {
  readonly field: string;
  readonly text: string;
  /** Scored in more than one stage, so its values are kept. */
  readonly shared: boolean;
}

/** Aggregates whose evidence comes in one store call. */
export interface EvidenceLevel {
  readonly aggregates: readonly PlannedAggregate[];
  /** Whether the evidence nodes' values are compared. */
  readonly values: boolean;
}

/** A fold over a path. */
export interface PlannedAggregate {
  /** Reading order in the whole query. */
  readonly index: number;
  readonly fold: Fold;
  readonly path: EvidencePath;
  /** Canonical text of the path. */
  readonly text: string;
  /** Which of the level above it belongs to: an index of aggregate there, and of its chain. Absent at level 0. */
  readonly parent: { readonly aggregate: number; readonly link: number } | undefined;
  readonly level: number;
  /** Index in its level. */
  readonly slot: number;
  /** Per link of the chain (kept step), the scored brackets. */
  readonly links: readonly (readonly Scored[])[];
}

/** A relevance ready to be evaluated. */
export type Scored =
  | { readonly kind: "product"; readonly terms: readonly Scored[] }
  | { readonly kind: "complement"; readonly operand: Scored }
  | { readonly kind: "combine"; readonly fold: Fold; readonly terms: readonly Scored[] }
  | { readonly kind: "aggregate"; readonly aggregate: PlannedAggregate }
  | { readonly kind: "local"; readonly local: number }
  | { readonly kind: "comparison"; readonly comparison: Comparison };

/** Nodes that a Local scores: the candidates, or the nodes of one link of an aggregate's chains. */
export interface LocalUse {
  /** Index in `Plan.locals`. */
  readonly local: number;
  /** Absent: the candidates. */
  readonly evidence: { readonly aggregate: PlannedAggregate; readonly link: number } | undefined;
}

/** The unscored steps, then the best nodes of the last step by one Local. */
export interface PushDown {
  /** Steps before the last; empty: the root. */
  readonly prefix: readonly StructuralStep[];
  readonly axis: Step["axis"];
  readonly type: string | undefined;
  readonly field: string;
  readonly text: string;
}

/** Plans a query. Pure; O(nodes of the tree). */
export function plan(query: Query): Plan {
  return new Planner(query).plan();
}

class Planner {
  readonly #query: Query;
  readonly #locals: { field: string; text: string; stages: Set<number> }[] = [];
  readonly #localIndex = new Map<string, number>();
  #aggregates = 0;

  constructor(query: Query) {
    this.#query = query;
  }

  plan(): Plan {
    const stages = this.#stages();
    const locals = this.#locals.map(({ field, text, stages: { size } }) => ({ field, text, shared: size > 1 }));
    return deepFreeze<Plan>({
      query: this.#query,
      text: print(this.#query),
      stages,
      locals,
      aggregates: this.#aggregates,
      pushDown: pushDownOf(stages, locals),
    });
  }

  #stages(): readonly Stage[] {
    const stages: Stage[] = [];
    const { steps } = this.#query;
    let firstStep = 0;
    steps.forEach((step, index) => {
      const scored = step.predicates.filter((predicate) => predicate.kind !== "comparison");
      if (scored.length === 0 && index < steps.length - 1) return;
      stages.push(new StagePlanner(stages.length, this).stage(firstStep, steps.slice(firstStep, index + 1), scored));
      firstStep = index + 1;
    });
    return stages;
  }

  /** Index of a Local, new or known. */
  local(field: string, text: string, stage: number): number {
    const key = `${field}\n${text}`;
    const index = this.#localIndex.get(key) ?? this.#locals.push({ field, text, stages: new Set() }) - 1;
    this.#localIndex.set(key, index);
    this.#locals[index]?.stages.add(stage);
    return index;
  }

  nextAggregate(): number {
    return this.#aggregates++;
  }
}

/** Where a relevance stands while a stage is planned. */
interface Place {
  /** 0: on a candidate; n: on a chain node of the aggregates of level n - 1. */
  readonly level: number;
  /** Of the level above, with the link of its chain; 0 on a candidate. */
  readonly aggregate: number;
  readonly link: number;
}

const ON_CANDIDATE: Place = { level: 0, aggregate: 0, link: 0 };

class StagePlanner {
  readonly #levels: { aggregates: PlannedAggregate[]; values: boolean }[] = [];
  readonly #uses: (Place & { readonly local: number })[] = [];
  #values = false;

  constructor(
    private readonly index: number,
    private readonly planner: Planner,
  ) {}

  stage(firstStep: number, steps: readonly Step[], scored: readonly Relevance[]): Stage {
    const predicates = scored.map((relevance) => this.#scored(relevance, ON_CANDIDATE));
    return {
      firstStep,
      steps: steps.map((step) => structural(step, step.predicates.filter(isComparison))),
      values: this.#values,
      predicates,
      levels: this.#levels,
      uses: this.#resolvedUses(),
    };
  }

  /** Uses name aggregates by place while those are still being made. */
  #resolvedUses(): readonly LocalUse[] {
    const seen = new Set<string>();
    const uses: LocalUse[] = [];
    for (const { local, level, aggregate, link } of this.#uses) {
      const key = [local, level, aggregate, link].join();
      if (seen.has(key)) continue;
      seen.add(key);
      const planned = level === 0 ? undefined : this.#levels[level - 1]?.aggregates[aggregate];
      uses.push({ local, evidence: planned && { aggregate: planned, link } });
    }
    return uses;
  }

  #scored(relevance: Relevance, place: Place): Scored {
    switch (relevance.kind) {
      case "product":
        return { kind: "product", terms: relevance.factors.map((factor) => this.#scored(factor, place)) };
      case "complement":
        return { kind: "complement", operand: this.#scored(relevance.operand, place) };
      case "mean":
        return { kind: "combine", fold: "avg", terms: relevance.terms.map((term) => this.#scored(term, place)) };
      case "combine":
        return {
          kind: "combine",
          fold: relevance.fold,
          terms: relevance.terms.map((term) => this.#scored(term, place)),
        };
      case "aggregate":
        return { kind: "aggregate", aggregate: this.#aggregate(relevance, place) };
      case "local": {
        const local = this.planner.local(relevance.field, relevance.text, this.index);
        this.#uses.push({ local, ...place });
        return { kind: "local", local };
      }
      case "comparison":
        this.#compares(place);
        return { kind: "comparison", comparison: relevance };
    }
  }

  #compares(place: Place): void {
    const level = this.#levels[place.level - 1];
    if (level === undefined) this.#values = true;
    else level.values = true;
  }

  /** A whole-bracket comparison filters the evidence, unless it is the last bracket of the last step. */
  #aggregate({ fold, path }: Aggregate, place: Place): PlannedAggregate {
    const index = this.planner.nextAggregate();
    const level = (this.#levels[place.level] ??= { aggregates: [], values: false });
    const slot = level.aggregates.length;
    const last = path.steps.length - 1;
    const isFilter = (step: number, bracket: number): boolean => {
      const { predicates = [] } = path.steps[step] ?? {};
      const veryLast = step === last && bracket === predicates.length - 1;
      return predicates[bracket]?.kind === "comparison" && !veryLast;
    };
    const scored = path.steps.map(({ predicates }, step) => predicates.filter((_, at) => !isFilter(step, at)));
    const keep = scored.map((predicates, step) => predicates.length > 0 || step === last);
    const links: Scored[][] = [];
    const planned: PlannedAggregate = {
      index,
      fold,
      path: {
        steps: path.steps.map((step, at) =>
          structural(step, step.predicates.filter((_, bracket) => isFilter(at, bracket)).filter(isComparison)),
        ),
        keep,
      },
      text: print(path),
      parent: place.level === 0 ? undefined : { aggregate: place.aggregate, link: place.link },
      level: place.level,
      slot,
      links,
    };
    level.aggregates.push(planned);
    scored.forEach((predicates, step) => {
      if (!keep[step]) return;
      const inner = { level: place.level + 1, aggregate: slot, link: links.length };
      links.push(predicates.map((predicate) => this.#scored(predicate, inner)));
    });
    return planned;
  }
}

function isComparison(relevance: Relevance): relevance is Comparison {
  return relevance.kind === "comparison";
}

function structural({ axis, type, position }: Step, comparisons: readonly Comparison[]): StructuralStep {
  return { axis, type, position, comparisons };
}

function pushDownOf(stages: readonly Stage[], locals: readonly PlannedLocal[]): PushDown | undefined {
  const [stage] = stages;
  const last = stage?.steps.at(-1);
  if (stage === undefined || last === undefined || stages.length > 1 || stage.predicates.length !== 1) return undefined;
  const [only] = stage.predicates;
  const local = only?.kind === "local" ? locals[only.local] : undefined;
  if (local === undefined || last.position !== undefined || last.comparisons.length > 0) return undefined;
  const { axis, type } = last;
  return { prefix: stage.steps.slice(0, -1), axis, type, field: local.field, text: local.text };
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}
