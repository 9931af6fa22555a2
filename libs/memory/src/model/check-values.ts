import { type Attributes, type AttributeValue, EspalierError, LIMITS, printValue } from "#core";
import { checkName, describeLocation, type Location } from "./names.js";

const encoder = new TextEncoder();

/**
 * A text that can be stored: no NUL, no lone surrogates (they do not survive UTF-8), at most 64 KiB of UTF-8.
 * @throws EspalierError `invalid_text`, `attribute_too_large`
 */
export function checkText(text: string, at: Location): void {
  if (!isStorable(text)) {
    const what = text.includes("\0") ? "a NUL character" : "a lone surrogate";
    throw new EspalierError("invalid_text", `${describeLocation(at)} holds ${what}.`, { details: { ...at } });
  }
  checkSize(text, at);
}

function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

function checkSize(text: string, at: Location): void {
  // A UTF-16 unit takes at most three bytes: short texts are not encoded.
  if (text.length * 3 <= LIMITS.attributeBytes) return;
  const bytes = text.length > LIMITS.attributeBytes ? text.length : encoder.encode(text).length;
  if (bytes <= LIMITS.attributeBytes) return;
  throw tooLarge(at);
}

function tooLarge(at: Location): EspalierError {
  return new EspalierError(
    "attribute_too_large",
    `${describeLocation(at)} is larger than ${LIMITS.attributeBytes} bytes.`,
    { details: { ...at, limit: LIMITS.attributeBytes } },
  );
}

/**
 * Attributes or metadata as they came: names, kinds, texts, sizes and their number.
 * @throws EspalierError `invalid_request`, `invalid_name`, `reserved_name`, `invalid_attribute`, `invalid_text`, `attribute_too_large`, `too_many_attributes`
 */
export function checkAttributes(value: unknown, role: "attribute" | "metadata", at: Location): Attributes {
  if (value === undefined) return {};
  if (!isPlainObject(value)) throw notOfKind(at, "an object of names and values", value);
  const names = Object.keys(value);
  checkCount(names.length, at);
  return Object.fromEntries(names.map((name) => [name, checkEntry(name, value[name], role, at)]));
}

/** @throws EspalierError `too_many_attributes` */
export function checkCount(entries: number, at: Location): void {
  if (entries <= LIMITS.nodeAttributes) return;
  throw new EspalierError(
    "too_many_attributes",
    `${describeLocation(at)} has more than ${LIMITS.nodeAttributes} entries.`,
    { details: { ...at, limit: LIMITS.nodeAttributes } },
  );
}

/** Where an entry of attributes is. */
export function entryAt(parent: Location, name: string): Location {
  return { ...parent, path: `${parent.path}.${name.length <= 160 ? name.toWellFormed() : "…"}` };
}

/**
 * Each item prints at least two characters: a list that cannot fit is refused without being walked.
 * @throws EspalierError `attribute_too_large`
 */
export function checkItems(items: number, at: Location): void {
  if (items > LIMITS.attributeBytes) throw tooLarge(at);
}

function checkEntry(name: string, value: unknown, role: "attribute" | "metadata", parent: Location): AttributeValue {
  const at = entryAt(parent, name);
  checkName(name, role, at);
  if (Array.isArray(value)) checkItems(value.length, at);
  if (!isAttributeValue(value)) throw notAnAttribute(value, at);
  if (typeof value === "string") checkText(value, at);
  else if (Array.isArray(value)) {
    value.forEach((item: string, index) => {
      if (!isStorable(item)) checkText(item, { ...at, path: `${at.path}[${index}]` });
    });
    checkSize(printValue(value), at);
  }
  return value;
}

function isAttributeValue(value: unknown): value is AttributeValue {
  if (typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  return Array.isArray(value) && value.every(isString);
}

function notAnAttribute(value: unknown, at: Location): EspalierError {
  return new EspalierError(
    "invalid_attribute",
    `${describeLocation(at)} is ${kindOf(value)}; expected a string, a finite number, a boolean or a list of strings.`,
    { details: { ...at } },
  );
}

/** `invalid_request` for a part of the wrong kind, in the shape of the API's schema errors. */
export function notOfKind(at: Location, expected: string, value: unknown): EspalierError {
  return invalidRequest(at, `expected ${expected}, got ${kindOf(value)}`);
}

/** `invalid_request` with one located problem. */
export function invalidRequest(at: Location, problem: string): EspalierError {
  return new EspalierError("invalid_request", `${describeLocation(at)}: ${problem}.`, {
    details: { ...at, errors: [{ path: at.path, message: problem }] },
  });
}

/** True for what JSON calls an object. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return value.every(isString) ? "a list" : "a list that holds more than strings";
  if (typeof value === "number") return Number.isFinite(value) ? "a number" : "a number that is not finite";
  if (value === undefined) return "nothing";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function isString(value: unknown): boolean {
  return typeof value === "string";
}
