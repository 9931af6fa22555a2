import type { Comparison, Local, Position, Query, Relevance, Step } from "./ast.js";

/**
 * The canonical text of a query: no white space, `~=` and `*`, double quotes, own brackets only below `1-`, and
 * parentheses around a complement that is multiplied (`(1-a)*b`). `parse(print(query))` equals `query`. O(nodes).
 */
export function print(query: Query): string {
  return query.steps.map(printStep).join("");
}

/** The canonical text of one step, for traces and explanations. */
export function printStep(step: Step): string {
  const axis = step.axis === "child" ? "/" : "//";
  const position = step.position === undefined ? "" : printPosition(step.position);
  const predicates = step.predicates.map((predicate) => `[${printRelevance(predicate)}]`).join("");
  return `${axis}${step.type ?? "*"}${position}${predicates}`;
}

/** The canonical text of a position with its brackets. */
export function printPosition(position: Position): string {
  if (position.kind === "index") return `[${position.index}]`;
  return `[${position.from ?? ""}:${position.to ?? ""}]`;
}

/** The canonical text of a relevance, without the brackets of its predicate. */
export function printRelevance(relevance: Relevance): string {
  switch (relevance.kind) {
    case "product":
      return relevance.factors.map(printFactor).join("*");
    case "complement":
      return `1-${printOperand(relevance.operand)}`;
    case "mean":
      return `(${relevance.terms.map(printRelevance).join("+")})/${relevance.terms.length}`;
    case "combine":
      return `${relevance.fold}(${relevance.terms.map(printRelevance).join(",")})`;
    case "aggregate":
      return `${relevance.fold}(${print(relevance.path)})`;
    case "local":
      return printLocal(relevance);
    case "comparison":
      return printComparison(relevance);
  }
}

/** The canonical text of a comparison, without brackets. */
export function printComparison(comparison: Comparison): string {
  const { name, operator, value } = comparison;
  return `${name}${operator}${typeof value === "number" ? String(value) : printString(value)}`;
}

/** The canonical text of a Local, without brackets. */
export function printLocal(local: Pick<Local, "field" | "text">): string {
  return `${local.field === "" ? "node" : local.field}~=${printString(local.text)}`;
}

function printFactor(factor: Relevance): string {
  const text = printRelevance(factor);
  return factor.kind === "product" || factor.kind === "complement" ? `(${text})` : text;
}

function printOperand(operand: Relevance): string {
  const text = printRelevance(operand);
  if (operand.kind === "product") return `(${text})`;
  return operand.kind === "local" || operand.kind === "comparison" ? `[${text}]` : text;
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t" };

/** Escapes what cannot stand in the literal and what cannot be seen. */
function printString(text: string): string {
  const escaped = text.replace(
    // eslint-disable-next-line no-control-regex -- control characters are what is escaped
    /["\\\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff\ud800-\udfff]/gu,
    (unit) => SHORT_ESCAPES[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `"${escaped}"`;
}
