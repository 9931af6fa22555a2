/**
 * Recursive descent over the grammar of the language page (paper 000, section 3.2, with our additions). One function per
 * production. Two tokens of lookahead decide everything: after `[`, whether a Position begins; at `1`, whether a
 * complement; at a fold's name, whether it is a function. Depth and counts are limited, so recursion is too.
 */
import { LIMITS, type ErrorCode, type EspalierError } from "#core";
import type { Comparison, ComparisonOperator, Fold, Local, Position, Query, Relevance, Step } from "./ast.js";
import { tokenize, type Token, type TokenKind } from "./lexer.js";
import { nestingOf } from "./nesting.js";
import { print, printRelevance } from "./print.js";
import { queryError } from "./query-error.js";
import { locate } from "./source-location.js";
import type { QueryWarning } from "./warning.js";

/** A parsed query: the tree, and beside it what the tree does not keep. Frozen. */
export interface ParsedQuery {
  /** As given. */
  readonly text: string;
  readonly ast: Query;
  /** `print(ast)`. */
  readonly canonical: string;
  readonly warnings: readonly QueryWarning[];
  /** Offset in `text` of the name of a step, a Local or a Comparison of `ast` (by identity); 0 for anything else. */
  readonly offsetOf: (node: Step | Local | Comparison) => number;
}

/**
 * Text to syntax tree. O(length).
 * @throws EspalierError `syntax_error`, `position_zero`, `position_after_predicate`, `mean_count`, or one of the limits
 * `query_too_long`, `too_many_steps`, `query_too_deep`, `too_many_predicates`, `string_too_long`; details carry `line`,
 * `column`, `caret` and `expected`.
 */
export function parse(text: string): ParsedQuery {
  refuseLongText(text);
  return new Parser(text).parse();
}

function refuseLongText(text: string): void {
  if (text.length <= LIMITS.queryBytes && Buffer.byteLength(text) <= LIMITS.queryBytes) return;
  let bytes = 0;
  let offset = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > LIMITS.queryBytes) break;
    offset += character.length;
  }
  throw queryError(text, {
    code: "query_too_long",
    message: `a query has at most ${LIMITS.queryBytes} bytes of UTF-8.`,
    offset,
    expected: ["the end of the query"],
  });
}

const FOLDS: ReadonlySet<string> = new Set<Fold>(["min", "max", "avg", "gmean"]);
const COMPARISONS: ReadonlySet<TokenKind> = new Set<TokenKind>(["=", "!=", "<", "<=", ">", ">="]);
const FACTOR = ['"node"', "an attribute's name", '"1-"', '"("', '"["', '"min("', '"max("', '"avg("', '"gmean("'];
const OPERATORS = ['"~="', '"="', '"!="', '"<"', '"<="', '">"', '">="'];
const INTEGER = /^[0-9]+$/u;

class Parser {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  readonly #warnings: QueryWarning[] = [];
  readonly #offsets = new Map<object, number>();
  /** Complements written without parentheses of their own. */
  readonly #bare = new Set<Relevance>();
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = tokenize(text);
  }

  parse(): ParsedQuery {
    const ast = this.#query("end", "the end of the query");
    const offsets = this.#offsets;
    return Object.freeze({
      text: this.#text,
      ast,
      canonical: print(ast),
      warnings: Object.freeze(this.#warnings),
      offsetOf: (node: object) => offsets.get(node) ?? 0,
    });
  }

  // --- Query = Step , { Step } ;
  #query(closing: TokenKind, closingText: string): Query {
    const steps: Step[] = [];
    do {
      if (steps.length === LIMITS.querySteps) {
        throw this.#error("too_many_steps", `a path has at most ${LIMITS.querySteps} steps.`, [closingText]);
      }
      steps.push(this.#step());
    } while (this.#is("/") || this.#is("//"));
    if (!this.#is(closing)) throw this.#expected(['"/"', '"//"', '"["', closingText]);
    return Object.freeze<Query>({ kind: "query", steps: Object.freeze(steps) });
  }

  // --- Step = Axis , NodeTest , [ Position ] , { Predicate } ;
  #step(): Step {
    if (!this.#is("/") && !this.#is("//")) throw this.#expected(['"/"', '"//"']);
    const axis = this.#take().kind === "/" ? "child" : "descendant";
    const test = this.#peek();
    if (test.kind !== "name" && test.text !== "*") throw this.#expected(["a node type", '"*"']);
    this.#take();
    const position = this.#is("[") && this.#beginsPosition() ? this.#position() : undefined;
    const predicates: Relevance[] = [];
    while (this.#is("[")) {
      if (this.#beginsPosition()) throw this.#misplacedPosition(predicates.length > 0);
      if (predicates.length === LIMITS.stepPredicates) {
        throw this.#error("too_many_predicates", `a step has at most ${LIMITS.stepPredicates} predicates.`, [
          '"*" inside one bracket',
        ]);
      }
      predicates.push(this.#predicate());
    }
    const type = test.kind === "name" ? test.text : undefined;
    const step: Step = { kind: "step", axis, type, position, predicates: Object.freeze(predicates) };
    return this.#node(step, test);
  }

  #misplacedPosition(afterPredicate: boolean): EspalierError {
    if (!afterPredicate) {
      return this.#error("syntax_error", "a step has one position.", ["a predicate", '"/"', '"//"']);
    }
    const message =
      "a position cannot follow a predicate. Put it before the predicate, start a new step, or cut by score with topK.";
    return this.#error("position_after_predicate", message, ["a predicate", '"/"', '"//"']);
  }

  /** After `[`: Int then `]` or `:`, or `:`, or `-`. */
  #beginsPosition(): boolean {
    const first = this.#peek(1);
    if (first.kind === ":" || first.kind === "-") return true;
    const second = this.#peek(2).kind;
    return first.kind === "number" && (second === "]" || second === ":");
  }

  // --- Position = "[" , ( [ "-" ] , Int | [ [ "-" ] , Int ] , ":" , [ [ "-" ] , Int ] ) , "]" ;
  #position(): Position {
    this.#take();
    const from = this.#is(":") ? undefined : this.#positionNumber('":"');
    if (from !== undefined && this.#is("]")) {
      this.#take();
      return Object.freeze<Position>({ kind: "index", index: from });
    }
    this.#expect(":", ['":"', '"]"']);
    const to = this.#is("]") ? undefined : this.#positionNumber('"]"');
    this.#expect("]", ['"]"']);
    return Object.freeze<Position>({ kind: "range", from, to });
  }

  /** `other`: what could stand there instead of a number. */
  #positionNumber(other: string): number {
    const negative = this.#is("-");
    if (negative) this.#take();
    const token = this.#peek();
    if (token.kind !== "number" || !INTEGER.test(token.text)) {
      throw this.#expected(negative ? ["an integer"] : ["an integer", '"-"', other]);
    }
    const value = Number(token.text);
    if (value === 0) {
      const message = "positions begin at 1; the last is -1.";
      throw this.#error("position_zero", message, ["an integer from 1"]);
    }
    if (token.text.startsWith("0")) {
      throw this.#error("syntax_error", "an integer has no leading zeros.", ["an integer from 1"]);
    }
    this.#take();
    // No memory has so many nodes: a larger number selects what the largest exact one does.
    const size = Math.min(value, Number.MAX_SAFE_INTEGER);
    return negative ? -size : size;
  }

  // --- Predicate = "[" , Relevance , "]" ;
  #predicate(): Relevance {
    const open = this.#peek();
    const relevance = this.#nested(() => {
      this.#refuseBareNumber();
      return this.#relevance();
    });
    this.#expect("]", ['"*"', '"]"']);
    if (this.#depth + 1 + nestingOf(relevance) > LIMITS.queryNesting) throw this.#tooDeep(open);
    return relevance;
  }

  /** A number that begins neither a Position nor a complement: says what would have made it one. */
  #refuseBareNumber(): void {
    const number = this.#peek();
    if (number.kind !== "number" || (number.text === "1" && this.#is("-", 1))) return;
    if (!INTEGER.test(number.text)) throw this.#expected(["an integer", ...FACTOR]);
    this.#take();
    throw this.#expected(number.text === "1" ? ['"]"', '":"', '"-"'] : ['"]"', '":"']);
  }

  // --- Relevance = Factor , { ( "*" | "·" ) , Factor } ;
  #relevance(): Relevance {
    const first = this.#factor();
    if (!this.#is("*")) return first;
    const start = this.#at;
    const factors = [first];
    while (this.#is("*")) {
      this.#take();
      factors.push(this.#factor());
    }
    const product = Object.freeze<Relevance>({ kind: "product", factors: Object.freeze(factors) });
    if (factors.some((factor) => this.#bare.has(factor))) this.#warnPrecedence(product, this.#tokens[start]);
    return product;
  }

  #warnPrecedence(product: Relevance, at: Token | undefined): void {
    const { line, column } = locate(this.#text, at?.start ?? 0);
    this.#warnings.push(
      Object.freeze<QueryWarning>({
        code: "complement_precedence",
        message: `Line ${line}, column ${column}: "1-" binds tighter than "*", so this is read as ${printRelevance(product)}. Write the parentheses.`,
      }),
    );
  }

  // --- Factor = "1" , "-" , Factor | Mean | "(" , Relevance , ")" | Combine | Aggregate | Local | Comparison ;
  #factor(): Relevance {
    const token = this.#peek();
    if (token.kind === "number" && token.text === "1" && this.#is("-", 1)) return this.#complement();
    if (token.kind === "(") return this.#parenthesis();
    if (token.kind === "[") return this.#bracketed();
    if (token.kind !== "name") throw this.#expected(FACTOR);
    if (FOLDS.has(token.text) && this.#is("(", 1)) return this.#fold(token.text as Fold);
    return this.#bareLeaf();
  }

  #complement(): Relevance {
    const operand = this.#nested(() => {
      this.#take();
      return this.#factor();
    });
    const complement = Object.freeze<Relevance>({ kind: "complement", operand });
    this.#bare.add(complement);
    return complement;
  }

  // --- "(" , Relevance , ")"  and  Mean = "(" , Relevance , "+" , Relevance , { "+" , Relevance } , ")" , "/" , Int ;
  #parenthesis(): Relevance {
    const terms = this.#nested(() => {
      const list = [this.#relevance()];
      while (this.#is("+")) {
        this.#take();
        list.push(this.#relevance());
      }
      return list;
    });
    this.#expect(")", ['"*"', '"+"', '")"']);
    const [only] = terms;
    if (terms.length === 1 && only !== undefined) {
      this.#bare.delete(only);
      return only;
    }
    this.#expect("/", [`"/${terms.length}"`]);
    const divisor = this.#peek();
    if (divisor.kind !== "number") throw this.#expected([`"${terms.length}"`]);
    if (divisor.text !== String(terms.length)) {
      const message = `this mean has ${terms.length} terms, so it is divided by ${terms.length}, not by ${divisor.text}.`;
      throw this.#error("mean_count", message, [`"${terms.length}"`]);
    }
    this.#take();
    return Object.freeze<Relevance>({ kind: "mean", terms: Object.freeze(terms) });
  }

  // --- Combine = Fold , "(" , Relevance , "," , … , ")" ;   Aggregate = Fold , "(" , Query , ")" ;
  #fold(fold: Fold): Relevance {
    this.#take();
    const relevance = this.#nested((): Relevance => {
      if (this.#is("/") || this.#is("//")) return { kind: "aggregate", fold, path: this.#query(")", '")"') };
      const first = this.#peek();
      if (!this.#beginsFactor(first)) throw this.#expected(['"/"', '"//"', ...FACTOR]);
      const terms = [this.#relevance()];
      if (!this.#is(",")) throw this.#expected(['"*"', '","'], "a fold takes two relevances or more, or a path");
      while (this.#is(",")) {
        this.#take();
        terms.push(this.#relevance());
      }
      if (!this.#is(")")) throw this.#expected(['"*"', '","', '")"']);
      return { kind: "combine", fold, terms: Object.freeze(terms) };
    });
    this.#expect(")", ['")"']);
    return Object.freeze(relevance);
  }

  #beginsFactor(token: Token): boolean {
    return token.kind === "name" || token.kind === "(" || token.kind === "[" || token.kind === "number";
  }

  // --- "[" , BareLocal , "]"  and  "[" , BareComp , "]"
  #bracketed(): Relevance {
    this.#take();
    if (!this.#is("name")) throw this.#expected(['"node"', "an attribute's name"]);
    const leaf = this.#bareLeaf();
    this.#expect("]", ['"]"']);
    return leaf;
  }

  // --- BareLocal = ( "node" | Name ) , ( "~=" | "~" | "≈" ) , String ;   BareComp = Name , operator , ( String | Number ) ;
  #bareLeaf(): Local | Comparison {
    const name = this.#take();
    const operator = this.#peek();
    if (operator.kind === "~=") {
      this.#take();
      const text = this.#peek();
      if (text.kind !== "string") throw this.#expected(["a string"]);
      this.#take();
      return this.#node<Local>({ kind: "local", field: name.text === "node" ? "" : name.text, text: text.value }, name);
    }
    if (!COMPARISONS.has(operator.kind)) {
      const hint = operator.kind === "(" ? "the functions are min, max, avg and gmean" : undefined;
      throw this.#expected(OPERATORS, hint);
    }
    this.#take();
    const comparison: Comparison = {
      kind: "comparison",
      name: name.text,
      operator: operator.kind as ComparisonOperator,
      value: this.#literal(),
    };
    return this.#node(comparison, name);
  }

  /** String or Number; the sign of a Number touches its digits. */
  #literal(): string | number {
    const sign = this.#peek();
    const negative = sign.kind === "-" && this.#is("number", 1) && this.#peek(1).start === sign.end;
    if (negative) this.#take();
    const token = this.#peek();
    if (token.kind === "string") {
      this.#take();
      return token.value;
    }
    if (token.kind !== "number") throw this.#expected(["a string", "a number"]);
    const size = Number(token.text);
    if (!Number.isFinite(size)) {
      throw this.#error("syntax_error", "this number is too large for a 64-bit float.", ["a finite number"]);
    }
    this.#take();
    return negative && size !== 0 ? -size : size;
  }

  // --- tokens
  #peek(ahead = 0): Token {
    const token = this.#tokens[Math.min(this.#at + ahead, this.#tokens.length - 1)];
    if (token === undefined) throw new Error("a token list always has an end");
    if (token.kind === "invalid" && ahead === 0) throw this.#invalid(token);
    return token;
  }

  #is(kind: TokenKind, ahead = 0): boolean {
    return this.#peek(ahead).kind === kind;
  }

  #take(): Token {
    const token = this.#peek();
    this.#at++;
    return token;
  }

  #expect(kind: TokenKind, expected: readonly string[]): void {
    if (!this.#is(kind)) throw this.#expected(expected);
    this.#take();
  }

  /** Takes the opening token and reads what it nests. */
  #nested<T>(body: () => T): T {
    if (this.#depth === LIMITS.queryNesting) throw this.#tooDeep(this.#peek());
    this.#depth++;
    this.#take();
    const result = body();
    this.#depth--;
    return result;
  }

  #node<T extends Step | Local | Comparison>(node: T, token: Token): T {
    this.#offsets.set(node, token.start);
    return Object.freeze(node);
  }

  // --- errors
  #tooDeep(token: Token): EspalierError {
    return queryError(this.#text, {
      code: "query_too_deep",
      message: `brackets, parentheses, folds and complements nest at most ${LIMITS.queryNesting} deep.`,
      offset: token.start,
      expected: ["a flatter query"],
    });
  }

  #invalid(token: Token): EspalierError {
    return queryError(this.#text, {
      code: token.limit ?? "syntax_error",
      message: token.value,
      offset: token.start,
      expected: token.expected,
    });
  }

  #error(code: ErrorCode, message: string, expected: readonly string[]): EspalierError {
    return queryError(this.#text, { code, message, offset: this.#peek().start, expected });
  }

  #expected(expected: readonly string[], note?: string): EspalierError {
    const token = this.#peek();
    const found =
      token.kind === "end" ? "the end of the query" : token.kind === "string" ? "a string" : `"${token.text}"`;
    const hint = note === undefined ? "" : ` (${note})`;
    return this.#error("syntax_error", `expected ${alternatives(expected)}; found ${found}${hint}.`, expected);
  }
}

function alternatives(list: readonly string[]): string {
  const last = list.at(-1) ?? "something else";
  return list.length < 2 ? last : `${list.slice(0, -1).join(", ")} or ${last}`;
}
