import type { ErrorCode, EspalierError } from "#core";
import { tokenize, type Token, type TokenKind } from "./lexer.js";
import { queryError } from "./query-error.js";
import { xpathHabit } from "./xpath-habits.js";

/** A place in the tokens of a query, and the errors that are told of it. */
export class TokenCursor {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = tokenize(text);
  }

  /**
   * The token here, or so many further on (the last one if there are fewer).
   * @throws EspalierError if the token here is a broken string or name
   */
  peek(ahead = 0): Token {
    const token = this.#tokens[Math.min(this.#at + ahead, this.#tokens.length - 1)];
    if (token === undefined) throw new Error("a token list always has an end");
    if (token.kind === "invalid" && ahead === 0) throw this.#invalid(token);
    return token;
  }

  is(kind: TokenKind, ahead = 0): boolean {
    return this.peek(ahead).kind === kind;
  }

  /** The token here; goes on to the next. */
  take(): Token {
    const token = this.peek();
    this.#at++;
    return token;
  }

  /** Takes a token of that kind. */
  expect(kind: TokenKind, expected: readonly string[]): void {
    if (!this.is(kind)) throw this.expected(expected);
    this.take();
  }

  /** An error at the token here. */
  error(code: ErrorCode, message: string, expected: readonly string[]): EspalierError {
    return queryError(this.#text, { code, message, offset: this.peek().start, expected });
  }

  /** `syntax_error` at the token here: what could stand in its place, what does, and why that is not enough. */
  expected(expected: readonly string[], note = xpathHabit(this.peek())): EspalierError {
    const hint = note === undefined ? "" : ` (${note})`;
    const message = `expected ${alternatives(expected)}; found ${describe(this.peek())}${hint}.`;
    return this.error("syntax_error", message, expected);
  }

  #invalid(token: Token): EspalierError {
    const { value: message, start: offset, expected, limit } = token;
    return queryError(this.#text, { code: limit ?? "syntax_error", message, offset, expected });
  }
}

function describe({ kind, text }: Token): string {
  if (kind === "end") return "the end of the query";
  return kind === "string" ? "a string" : `"${text}"`;
}

function alternatives(list: readonly string[]): string {
  const last = list.at(-1) ?? "something else";
  return list.length < 2 ? last : `${list.slice(0, -1).join(", ")} or ${last}`;
}
