/**
 * The language page, read as a program and nothing else: recursion over a tree in memory, no planner, no ports, nothing
 * shared with the engine but the syntax tree's types. Slow on purpose.
 */
import type { Comparison, Position, Query, Relevance, Step } from "#query";
import { textOf, type RelevanceFunction } from "./relevance-function.js";
import { descendantsOf, type TestNode } from "./tree.js";

export interface NaiveRow {
  readonly node: TestNode;
  readonly score: number;
}

export interface NaiveCut {
  readonly topK?: number | undefined;
  readonly minScore?: number | undefined;
  readonly minRatio?: number | undefined;
}

type WeightedSet = ReadonlyMap<TestNode, number>;

/** The rows of a query over a tree: by score descending, then in document order, cut. */
export function naiveEvaluate(
  query: Query,
  root: TestNode,
  relevance: RelevanceFunction,
  cut: NaiveCut = {},
): readonly NaiveRow[] {
  let set: WeightedSet = new Map([[root, 1]]);
  for (const step of query.steps) set = evaluateStep(step, set, relevance);
  const rows = [...set]
    .map(([node, weight]) => ({ node, score: round(weight) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || byDocument(a.node, b.node));
  const best = rows[0]?.score ?? 0;
  return rows
    .filter(({ score }) => score >= (cut.minScore ?? 0) - 1e-9)
    .filter(({ score }) => score >= (cut.minRatio ?? 0) * best - 1e-9)
    .slice(0, cut.topK);
}

/** The evidence of each aggregate of the last step at a node, outermost ones only, in reading order. */
export function naiveEvidence(
  step: Step,
  node: TestNode,
  relevance: RelevanceFunction,
): readonly (readonly NaiveRow[])[] {
  const found: (readonly NaiveRow[])[] = [];
  const visit = (part: Relevance): void => {
    if (part.kind === "product") part.factors.forEach(visit);
    if (part.kind === "mean" || part.kind === "combine") part.terms.forEach(visit);
    if (part.kind === "complement") visit(part.operand);
    if (part.kind === "aggregate") {
      found.push([...evidence(part.path, node, relevance)].map(([one, value]) => ({ node: one, score: round(value) })));
    }
  };
  step.predicates.forEach(visit);
  return found.map((rows) => [...rows].sort((a, b) => b.score - a.score || byDocument(a.node, b.node)));
}

function evaluateStep(step: Step, set: WeightedSet, relevance: RelevanceFunction): WeightedSet {
  const reached = structure(step, set);
  const weighed = new Map<TestNode, number>();
  for (const [node, weight] of reached) {
    let product = weight;
    for (const predicate of step.predicates) product *= relevanceOf(predicate, node, relevance);
    if (product !== 0) weighed.set(node, product);
  }
  return weighed;
}

/** Axis, node test and position; the largest weight where a node is reached twice. */
function structure(step: Step, set: WeightedSet): WeightedSet {
  const reached = new Map<TestNode, number>();
  for (const [context, weight] of set) {
    for (const node of step.axis === "child" ? context.children : descendantsOf(context)) {
      if (step.type !== undefined && node.key.type !== step.type) continue;
      reached.set(node, Math.max(reached.get(node) ?? 0, weight));
    }
  }
  const ordered = [...reached].sort(([a], [b]) => byDocument(a, b));
  return new Map(step.position === undefined ? ordered : select(ordered, step.position));
}

function select<T>(items: readonly T[], position: Position): readonly T[] {
  const place = (index: number): number => (index > 0 ? index : items.length + 1 + index);
  if (position.kind === "index") return items.filter((_, at) => at + 1 === place(position.index));
  const from = position.from === undefined ? 1 : place(position.from);
  const to = position.to === undefined ? items.length : place(position.to);
  return items.filter((_, at) => from <= at + 1 && at + 1 <= to);
}

function relevanceOf(part: Relevance, node: TestNode, relevance: RelevanceFunction): number {
  const of = (inner: Relevance): number => relevanceOf(inner, node, relevance);
  switch (part.kind) {
    case "local":
      return round(relevance(textOf(node, part.field), part.text));
    case "comparison":
      return compares(part, node) ? 1 : 0;
    case "complement":
      return 1 - of(part.operand);
    case "product":
      return part.factors.map(of).reduce((product, value) => product * value, 1);
    case "mean":
      return fold("avg", part.terms.map(of));
    case "combine":
      return fold(part.fold, part.terms.map(of));
    case "aggregate":
      return fold(part.fold, [...evidence(part.path, node, relevance).values()]);
  }
}

/** Evidence nodes with the largest product of predicates along a way to them, in document order. */
function evidence(path: Query, context: TestNode, relevance: RelevanceFunction): WeightedSet {
  let set: WeightedSet = new Map([[context, 1]]);
  path.steps.forEach((step, at) => {
    const next = new Map<TestNode, number>();
    for (const [node, weight] of structure(step, set)) {
      const isFilter = (predicate: Relevance, bracket: number): predicate is Comparison =>
        predicate.kind === "comparison" && !(at === path.steps.length - 1 && bracket === step.predicates.length - 1);
      const filtered = step.predicates.some((one, bracket) => isFilter(one, bracket) && !compares(one, node));
      const factors = step.predicates.filter((one, bracket) => !isFilter(one, bracket));
      const product = factors.reduce((value, factor) => value * relevanceOf(factor, node, relevance), weight);
      if (!filtered) next.set(node, product);
    }
    set = next;
  });
  return set;
}

function fold(name: "min" | "max" | "avg" | "gmean", values: readonly number[]): number {
  if (values.length === 0) return 0;
  if (name === "min") return Math.min(...values);
  if (name === "max") return Math.max(...values);
  if (name === "avg") return values.reduce((sum, value) => sum + value, 0) / values.length;
  if (values.includes(0)) return 0;
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

function compares({ name, operator, value: literal }: Comparison, node: TestNode): boolean {
  const value = [node.attributes, node.metadata].find((values) => Object.hasOwn(values, name))?.[name];
  if (value === undefined) return false;
  if (typeof value === "object") {
    const member = value.some((item) => order(item, literal) === 0);
    return operator === "=" ? member : operator === "!=" && !member;
  }
  const sign = order(value, literal);
  if (sign === undefined) return false;
  return { "=": sign === 0, "!=": sign !== 0, "<": sign < 0, "<=": sign <= 0, ">": sign > 0, ">=": sign >= 0 }[
    operator
  ];
}

/** Below, at or above 0; undefined if the two cannot be compared. */
function order(value: string | number | boolean, literal: string | number): number | undefined {
  if (typeof literal === "number") {
    if (typeof value === "number") return value - literal;
    if (typeof value !== "string" || !/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value)) return undefined;
    return Number.isFinite(Number(value)) ? Number(value) - literal : undefined;
  }
  const text = String(value);
  const [a, b] = [instant(text), instant(literal)];
  if (a !== undefined && b !== undefined) return a - b;
  return Buffer.compare(Buffer.from(text), Buffer.from(literal));
}

/** Only what the generators write: dates, and date-times to the second with or without a zone. */
function instant(text: string): number | undefined {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return Date.parse(`${text}T00:00:00Z`);
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(text)) return Date.parse(`${text}Z`);
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : undefined;
}

function byDocument(a: TestNode, b: TestNode): number {
  return a.key.pathKey < b.key.pathKey ? -1 : a.key.pathKey > b.key.pathKey ? 1 : 0;
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
