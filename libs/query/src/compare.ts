/**
 * What a Comparison means (language page, "Comparison"). Stores decide in their own language only what comes out equal to
 * this; the rest they filter with it.
 */
import { printValue, type Attributes, type AttributeValue } from "#core";
import type { Comparison, ComparisonOperator } from "./ast.js";
import { compareInstants, parseInstant } from "./instant.js";

/**
 * Whether `value operator literal` holds. A missing value (`undefined`) never does, not even for `!=`. Of a list, `=` is
 * membership, `!=` its negation, and nothing else holds. O(length of the value).
 */
export function compare(
  value: AttributeValue | undefined,
  operator: ComparisonOperator,
  literal: string | number,
): boolean {
  if (value === undefined) return false;
  if (typeof value !== "object") return compareScalar(value, operator, literal);
  if (operator !== "=" && operator !== "!=") return false;
  const member = value.some((item) => compareScalar(item, "=", literal));
  return member === (operator === "=");
}

/** The value that a Comparison's name means: the attribute, else the metadata entry, else `undefined`. */
export function comparedValue(
  node: { readonly attributes?: Attributes; readonly metadata?: Attributes },
  name: string,
): AttributeValue | undefined {
  const { attributes, metadata } = node;
  if (attributes !== undefined && Object.hasOwn(attributes, name)) return attributes[name];
  return metadata !== undefined && Object.hasOwn(metadata, name) ? metadata[name] : undefined;
}

/** Whether a comparison holds for a node. */
export function holds(
  comparison: Comparison,
  node: { readonly attributes?: Attributes; readonly metadata?: Attributes },
): boolean {
  return compare(comparedValue(node, comparison.name), comparison.operator, comparison.value);
}

const DECIMAL = /^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/u;

/**
 * The number that a Number literal is compared with: a number itself, or a text that is a finite decimal in the language's
 * own Number form; `undefined` for anything else.
 */
export function numericValue(value: string | number | boolean): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "boolean" || !DECIMAL.test(value)) return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

/** Negative, zero or positive by code points (UTF-8 byte order), which UTF-16 order is not beyond the basic plane. */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (x !== y) return ranked(x) - ranked(y);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above every unit that is none. */
function ranked(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

function compareScalar(
  value: string | number | boolean,
  operator: ComparisonOperator,
  literal: string | number,
): boolean {
  if (typeof literal === "number") {
    const number = numericValue(value);
    return number !== undefined && decide(operator, number - literal);
  }
  const text = printValue(value);
  const [left, right] = [parseInstant(text), parseInstant(literal)];
  if (left !== undefined && right !== undefined) return decide(operator, compareInstants(left, right));
  return decide(operator, compareCodePoints(text, literal));
}

function decide(operator: ComparisonOperator, order: number): boolean {
  switch (operator) {
    case "=":
      return order === 0;
    case "!=":
      return order !== 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
  }
}
