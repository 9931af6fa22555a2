import { type Comparison, parseInstant } from "#query";
import { memberKey, orderedInstant, orderedText, type PropertyKind, propertyOf } from "./node-properties.js";
import type { Parameters } from "./parameters.js";

/**
 * Whether a state's value fulfils a comparison, as a condition that is true for exactly the states for which `holds` of #query
 * is (false or null for others). Names and literals are parameters; the text depends on the operator and the kind of literal.
 */
export function comparisonCondition(
  { name, operator, value }: Comparison,
  alias: string,
  parameters: Parameters,
): string {
  const property = (kind: PropertyKind): string => `${alias}[${parameters.bind(propertyOf(kind, name))}]`;
  const compared = (left: string, right: string | number): string =>
    `${left} ${operator === "!=" ? "<>" : operator} ${parameters.bind(right)}`;

  const scalar = typeof value === "number" ? compared(property("number"), value + 0) : textCondition(value);
  if (operator !== "=" && operator !== "!=") return scalar;
  const members = property("members");
  const isMember = `${parameters.bind(memberKey(value))} IN ${members}`;
  const list = operator === "=" ? isMember : `NOT ${isMember}`;
  return `CASE WHEN ${members} IS NULL THEN ${scalar} ELSE ${list} END`;

  function textCondition(literal: string): string {
    const byText = compared(`coalesce(${property("text")}, ${property("value")})`, orderedText(literal));
    const moment = parseInstant(literal);
    if (moment === undefined) return byText;
    const instant = property("instant");
    const byTime = compared(instant, orderedInstant(moment));
    return `CASE WHEN ${instant} IS NULL THEN ${byText} ELSE ${byTime} END`;
  }
}
