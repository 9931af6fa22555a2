import { EspalierError, LIMITS } from "#core";

const NAME = /^[\p{L}_][\p{L}\p{Nd}_.-]*$/u;

const RESERVED_TYPES: ReadonlySet<string> = new Set(["Memory", "Version"]);
const RESERVED_ATTRIBUTE = "node";
/** Assigning to it changes an object instead of storing a value, so it names nothing. */
const RESERVED_EVERYWHERE = "__proto__";

/** What a name names. */
export type NameRole = "type" | "attribute" | "metadata";

/** Where a problem of an insert is: its path in the request, and for XML the line and column (1-based). */
export interface Location {
  readonly path: string;
  readonly line?: number;
  readonly column?: number;
}

/** The message's beginning: `tree.children[3].type`, or with a line and a column for XML. */
export function describeLocation(at: Location): string {
  return at.line === undefined ? at.path : `${at.path}, line ${at.line}, column ${at.column ?? 1}`;
}

/** True if `text` is a Name: a letter or `_`, then letters, digits, `_`, `-`, `.`; in NFC; at most 128 characters. */
export function isName(text: string): boolean {
  return !isNameTooLong(text) && NAME.test(text) && text.normalize("NFC") === text;
}

/** True if `text` has more characters than any Name. O(1) for a text of any length. */
export function isNameTooLong(text: string): boolean {
  // A code point takes one unit or two: only what lies between is counted.
  if (text.length <= LIMITS.nameLength) return false;
  return text.length > 2 * LIMITS.nameLength || Array.from(text).length > LIMITS.nameLength;
}

/**
 * Names are compared code point by code point in queries, so one that is not in NFC is refused rather than rewritten.
 * @throws EspalierError `name_too_long`, `invalid_name`, `reserved_name`
 */
export function checkName(text: string, role: NameRole, at: Location): void {
  if (isNameTooLong(text)) {
    throw new EspalierError(
      "name_too_long",
      `${describeLocation(at)}: ${JSON.stringify(excerpt(text))} has more than ${LIMITS.nameLength} characters.`,
      { details: { ...at, role, limit: LIMITS.nameLength } },
    );
  }
  if (!isName(text)) {
    throw new EspalierError(
      "invalid_name",
      `${describeLocation(at)}: ${JSON.stringify(excerpt(text))} is not a Name${nfcHint(text)}.`,
      { details: { ...at, role } },
    );
  }
  if (isReserved(text, role)) {
    throw new EspalierError("reserved_name", `${describeLocation(at)}: ${text} is a reserved ${role}.`, {
      details: { ...at, role, name: text },
    });
  }
}

function isReserved(text: string, role: NameRole): boolean {
  if (text === RESERVED_EVERYWHERE) return true;
  return role === "type" ? RESERVED_TYPES.has(text) : role === "attribute" && text === RESERVED_ATTRIBUTE;
}

function nfcHint(text: string): string {
  return text.normalize("NFC") !== text && isName(text.normalize("NFC")) ? " (it is not in NFC)" : "";
}

/** Enough of a refused name to recognise it; `toWellFormed` keeps the message printable. */
function excerpt(text: string): string {
  return text.length <= 40 ? text.toWellFormed() : `${text.slice(0, 40).toWellFormed()}…`;
}
