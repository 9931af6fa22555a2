/**
 * The values of a node as properties that Cypher compares as the language does (`compare` of #query). A property of a name
 * is `kind:name`; names have no colon, so that none meets a property of ours:
 *
 * - `value:` is what a Comparison's name means, for people too: the attribute, else the metadata entry.
 * - `text:` is what it is compared with as a text, where that is not the value itself (see `orderedText`).
 * - `number:` and `instant:` are what it is read as, where it can be: `number:` a float, `instant:` a text in order of time.
 * - `members:` (lists only) are the items as `memberKey` writes them.
 */
import { type AttributeValue, type NodeState, printValue } from "#core";
import { type Instant, numericValue, parseInstant } from "#query";

export type PropertyKind = "value" | "text" | "number" | "instant" | "members";

/** The property of one kind of a name. */
export const propertyOf = (kind: PropertyKind, name: string): string => `${kind}:${name}`;

/** The value properties of a node's state. O(length of its values). */
export function nodeProperties({
  attributes,
  metadata,
}: Pick<NodeState, "attributes" | "metadata">): Readonly<Record<string, AttributeValue>> {
  const values = new Map([...Object.entries(metadata), ...Object.entries(attributes)]);
  return Object.fromEntries([...values].flatMap(([name, value]) => propertiesOf(name, value)));
}

function propertiesOf(name: string, value: AttributeValue): readonly (readonly [string, AttributeValue])[] {
  const raw = [propertyOf("value", name), value] as const;
  if (typeof value === "object") return [raw, [propertyOf("members", name), value.flatMap(memberKeys)]];
  const text = orderedText(printValue(value));
  const [number, moment] = [numericValue(value), parseInstant(printValue(value))];
  return [
    raw,
    ...(text === value ? [] : ([[propertyOf("text", name), text]] as const)),
    // Neo4j orders -0 below 0: adding 0 makes it 0.
    ...(number === undefined ? [] : ([[propertyOf("number", name), number + 0]] as const)),
    ...(moment === undefined ? [] : ([[propertyOf("instant", name), orderedInstant(moment)]] as const)),
  ];
}

function memberKeys(item: string): readonly string[] {
  const number = numericValue(item);
  return [memberKey(item), ...(number === undefined ? [] : [memberKey(number)])];
}

/** What a literal equals in a list: a moment, a number or a text. */
export function memberKey(literal: string | number): string {
  if (typeof literal === "number") return `number:${literal}`;
  const moment = parseInstant(literal);
  return moment === undefined ? `text:${literal}` : `instant:${orderedInstant(moment)}`;
}

/** Seconds from a moment before year 0 on; twelve digits hold those up to the year 9999. */
const EARLIEST = 100_000_000_000;

/** A moment as a text whose order is that of time. */
export function orderedInstant({ seconds, fraction }: Instant): string {
  return `${String(EARLIEST + seconds).padStart(12, "0")}.${fraction}`;
}

/**
 * A text whose order, by units, is the order of the text by code points: Neo4j orders some texts by UTF-16 units. Units from
 * U+D7FF on are written as two below it, surrogates last; any other text is itself.
 */
export function orderedText(text: string): string {
  return text.replace(
    /[\ud7ff-\uffff]/g,
    (unit) => ESCAPE + String.fromCharCode(FIRST_RANK + rank(unit.charCodeAt(0))),
  );
}

const ESCAPE = "\ud7ff";
/** Any unit from which all ranks lie below the escape. */
const FIRST_RANK = 0x100;

function rank(unit: number): number {
  if (unit === 0xd7ff) return 0;
  return unit >= 0xe000 ? unit - 0xe000 + 1 : unit - 0xd800 + 0x2001;
}
