/**
 * Text to tokens. White space separates tokens and is dropped. The lexer never throws: a character that begins no token is
 * `unknown`, which the parser expects nowhere, and a broken string or name is `invalid`, on which the parser stops when it
 * gets there, so that errors are reported from left to right.
 */
import { LIMITS } from "#core";

export type TokenKind =
  | "/"
  | "//"
  | "["
  | "]"
  | "("
  | ")"
  | ","
  | "*"
  | "+"
  | "-"
  | ":"
  | "~="
  | "="
  | "!="
  | "<"
  | "<="
  | ">"
  | ">="
  | "name"
  | "number"
  | "string"
  | "invalid"
  | "unknown"
  | "end";

export interface Token {
  readonly kind: TokenKind;
  /** As written. */
  readonly text: string;
  /** A string's meaning (escapes resolved), an `invalid` token's message; otherwise the text. */
  readonly value: string;
  /** UTF-16 offsets in the query: `start` of the token, `end` just behind it. */
  readonly start: number;
  readonly end: number;
  /** Of an `invalid` token: what could have stood there. */
  readonly expected: readonly string[];
  /** Of an `invalid` token: whether a limit, not the syntax, refused it. */
  readonly limit?: "string_too_long";
}

/** Alternatives of one token come first in their longest form. */
const SYMBOLS: readonly (readonly [string, TokenKind])[] = [
  ["//", "//"],
  ["/", "/"],
  ["[", "["],
  ["]", "]"],
  ["(", "("],
  [")", ")"],
  [",", ","],
  ["*", "*"],
  ["·", "*"],
  ["+", "+"],
  ["-", "-"],
  [":", ":"],
  ["~=", "~="],
  ["~", "~="],
  ["≈", "~="],
  ["!=", "!="],
  ["=", "="],
  ["<=", "<="],
  ["<", "<"],
  [">=", ">="],
  [">", ">"],
];

const SPACE = /\s+/uy;
const NAME = /[\p{L}_][\p{L}\p{Nd}_.-]*/uy;
const MARK = /\p{M}/uy;
const NUMBER = /[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/uy;
const HEX = /[0-9a-fA-F]{4}/uy;
const ESCAPES: Readonly<Record<string, string>> = { '"': '"', "'": "'", "\\": "\\", n: "\n", t: "\t" };
const ESCAPE_FORMS = ['\\"', "\\'", "\\\\", "\\n", "\\t", "\\uXXXX"];

/** All tokens up to the first `invalid` or `unknown` one or `end`. O(length). */
export function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    at = match(SPACE, text, at)?.end ?? at;
    const token = nextToken(text, at);
    tokens.push(token);
    if (token.kind === "end" || token.kind === "invalid" || token.kind === "unknown") return tokens;
    at = token.end;
  }
}

function nextToken(text: string, start: number): Token {
  if (start >= text.length) return { kind: "end", text: "", value: "", start, end: start, expected: [] };
  const first = text.charAt(start);
  if (first === '"' || first === "'") return stringToken(text, start, first);
  const name = match(NAME, text, start);
  if (name !== undefined) return nameToken(name.text, start, text);
  const number = match(NUMBER, text, start);
  if (number !== undefined) return plain("number", number.text, start);
  for (const [symbol, kind] of SYMBOLS) {
    if (text.startsWith(symbol, start)) return plain(kind, symbol, start);
  }
  return plain("unknown", String.fromCodePoint(text.codePointAt(start) ?? 0), start);
}

function nameToken(name: string, start: number, text: string): Token {
  if (name.normalize("NFC") !== name || match(MARK, text, start + name.length) !== undefined) {
    const message =
      "names are letters and digits in NFC: an accented letter is one character, without combining marks.";
    return invalid(start, message, ["a name in NFC"]);
  }
  if (name.length > LIMITS.nameLength && Array.from(name).length > LIMITS.nameLength) {
    const expected = [`a name of at most ${LIMITS.nameLength} characters`];
    return invalid(start, `this name has more than ${LIMITS.nameLength} characters.`, expected);
  }
  return plain("name", name, start);
}

/**
 * A string literal with its escapes resolved. The loop walks UTF-16 units; only surrogate pairs may hold surrogates, so
 * that every literal has a UTF-8 form (a pair may also be written as two `\u` escapes).
 */
function stringToken(text: string, start: number, quote: string): Token {
  let value = "";
  let at = start + 1;
  for (;;) {
    if (at >= text.length) return invalid(start, "this string is never closed.", [quote]);
    const unit = text.charAt(at);
    if (unit === quote) break;
    if (unit !== "\\") {
      value += unit;
      at++;
      continue;
    }
    const escape = unescape(text, at);
    if (escape === undefined) {
      return invalid(at, unescapable(text, at), ESCAPE_FORMS);
    }
    value += escape.value;
    at = escape.end;
  }
  if (!value.isWellFormed()) {
    return invalid(start, "this string has half of a surrogate pair, which is no character.", ["whole characters"]);
  }
  if (Buffer.byteLength(value) > LIMITS.queryStringBytes) {
    const expected = [`a string of at most ${LIMITS.queryStringBytes} bytes`];
    const message = `this string has more than ${LIMITS.queryStringBytes} bytes of UTF-8.`;
    return { ...invalid(start, message, expected), limit: "string_too_long" };
  }
  return { kind: "string", text: text.slice(start, at + 1), value, start, end: at + 1, expected: [] };
}

function unescape(text: string, backslash: number): { readonly value: string; readonly end: number } | undefined {
  const letter = text.charAt(backslash + 1);
  if (letter === "u") {
    const hex = match(HEX, text, backslash + 2);
    return hex && { value: String.fromCharCode(Number.parseInt(hex.text, 16)), end: hex.end };
  }
  const value = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
  return value === undefined ? undefined : { value, end: backslash + 2 };
}

function unescapable(text: string, backslash: number): string {
  const next = text.codePointAt(backslash + 1);
  if (next === undefined) return "a lone \\ is no escape.";
  const letter = String.fromCodePoint(next);
  return letter === "u" ? "\\u takes four hexadecimal digits." : `\\${letter} is no escape.`;
}

function invalid(start: number, message: string, expected: readonly string[]): Token {
  return { kind: "invalid", text: "", value: message, start, end: start, expected };
}

function plain(kind: TokenKind, text: string, start: number): Token {
  return { kind, text, value: text, start, end: start + text.length, expected: [] };
}

/** A sticky match at an offset. */
function match(pattern: RegExp, text: string, at: number): { readonly text: string; readonly end: number } | undefined {
  pattern.lastIndex = at;
  const found = pattern.exec(text);
  return found === null ? undefined : { text: found[0], end: at + found[0].length };
}
