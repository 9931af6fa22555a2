/**
 * Recursive descent over the grammar of the language page (paper 000, section 3.2, with our additions). One function per
 * production. Two tokens of lookahead decide everything: after `[`, whether a Position begins; at `1`, whether a
 * complement; at a fold's name, whether it is a function. Depth and counts are limited, so recursion is too.
 */
import { LIMITS, type EspalierError } from "#core";
import type { Comparison, ComparisonOperator, Fold, Local, Position, Query, Relevance, Step } from "./ast.js";
import type { Token, TokenKind } from "./lexer.js";
import { nestingOf } from "./nesting.js";
import { print, printRelevance } from "./print.js";
import { queryError } from "./query-error.js";
import { locate } from "./source-location.js";
import { TokenCursor } from "./token-cursor.js";
import type { QueryWarning } from "./warning.js";
import { insteadOfFunction } from "./xpath-habits.js";

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
 * `query_too_long`, `too_many_steps`, `too_many_aggregates`, `query_too_deep`, `too_many_predicates`, `string_too_long`; details carry `line`,
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

/** What a text without quotes lacks. */
function inQuotes({ kind, text }: Token): string | undefined {
  return kind === "name" || kind === "number" ? `put it in quotes: "${text}"` : undefined;
}

/** Why a name with something else than an operator behind it asks nothing. */
function withoutOperator(name: Token, { kind }: Token): string | undefined {
  if (kind === "(") return insteadOfFunction(name.text);
  return kind === "]" ? `nodes that have a child ${name.text} are asked for by max(/${name.text})` : undefined;
}

class Parser {
  readonly #text: string;
  readonly #cursor: TokenCursor;
  readonly #warnings: QueryWarning[] = [];
  readonly #offsets = new Map<object, number>();
  /** Complements written without parentheses of their own. */
  readonly #bare = new Set<Relevance>();
  #depth = 0;
  #aggregates = 0;

  constructor(text: string) {
    this.#text = text;
    this.#cursor = new TokenCursor(text);
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
        throw this.#cursor.error("too_many_steps", `a path has at most ${LIMITS.querySteps} steps.`, [closingText]);
      }
      steps.push(this.#step());
    } while (this.#cursor.is("/") || this.#cursor.is("//"));
    if (!this.#cursor.is(closing)) throw this.#cursor.expected(['"/"', '"//"', '"["', closingText]);
    return Object.freeze<Query>({ kind: "query", steps: Object.freeze(steps) });
  }

  // --- Step = Axis , NodeTest , [ Position ] , { Predicate } ;
  #step(): Step {
    if (!this.#cursor.is("/") && !this.#cursor.is("//")) throw this.#cursor.expected(['"/"', '"//"']);
    const axis = this.#cursor.take().kind === "/" ? "child" : "descendant";
    const test = this.#cursor.peek();
    if (test.kind !== "name" && test.text !== "*") throw this.#cursor.expected(["a node type", '"*"']);
    this.#cursor.take();
    const position = this.#cursor.is("[") && this.#beginsPosition() ? this.#position() : undefined;
    const predicates: Relevance[] = [];
    while (this.#cursor.is("[")) {
      if (this.#beginsPosition()) throw this.#misplacedPosition(predicates.length > 0);
      if (predicates.length === LIMITS.stepPredicates) {
        throw this.#cursor.error("too_many_predicates", `a step has at most ${LIMITS.stepPredicates} predicates.`, [
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
      return this.#cursor.error("syntax_error", "a step has one position.", ["a predicate", '"/"', '"//"']);
    }
    const message =
      "a position cannot follow a predicate. Put it before the predicate, start a new step, or cut by score with topK.";
    return this.#cursor.error("position_after_predicate", message, ["a predicate", '"/"', '"//"']);
  }

  /** After `[`: Int then `]` or `:`, or `:`, or `-`. */
  #beginsPosition(): boolean {
    const first = this.#cursor.peek(1);
    if (first.kind === ":" || first.kind === "-") return true;
    const second = this.#cursor.peek(2).kind;
    return first.kind === "number" && (second === "]" || second === ":");
  }

  // --- Position = "[" , ( [ "-" ] , Int | [ [ "-" ] , Int ] , ":" , [ [ "-" ] , Int ] ) , "]" ;
  #position(): Position {
    this.#cursor.take();
    const from = this.#cursor.is(":") ? undefined : this.#positionNumber('":"');
    if (from !== undefined && this.#cursor.is("]")) {
      this.#cursor.take();
      return Object.freeze<Position>({ kind: "index", index: from });
    }
    this.#cursor.expect(":", ['":"', '"]"']);
    const to = this.#cursor.is("]") ? undefined : this.#positionNumber('"]"');
    this.#cursor.expect("]", ['"]"']);
    return Object.freeze<Position>({ kind: "range", from, to });
  }

  /** `other`: what could stand there instead of a number. */
  #positionNumber(other: string): number {
    const negative = this.#cursor.is("-");
    if (negative) this.#cursor.take();
    const token = this.#cursor.peek();
    if (token.kind !== "number" || !INTEGER.test(token.text)) {
      throw this.#cursor.expected(negative ? ["an integer"] : ["an integer", '"-"', other]);
    }
    const value = Number(token.text);
    if (value === 0) {
      const message = "positions begin at 1; the last is -1.";
      throw this.#cursor.error("position_zero", message, ["an integer from 1"]);
    }
    if (token.text.startsWith("0")) {
      throw this.#cursor.error("syntax_error", "an integer has no leading zeros.", ["an integer from 1"]);
    }
    this.#cursor.take();
    // No memory has so many nodes: a larger number selects what the largest exact one does.
    const size = Math.min(value, Number.MAX_SAFE_INTEGER);
    return negative ? -size : size;
  }

  // --- Predicate = "[" , Relevance , "]" ;
  #predicate(): Relevance {
    const open = this.#cursor.peek();
    const relevance = this.#nested(() => {
      this.#refuseBareNumber();
      return this.#relevance();
    });
    this.#cursor.expect("]", ['"*"', '"]"']);
    if (this.#depth + 1 + nestingOf(relevance) > LIMITS.queryNesting) throw this.#tooDeep(open);
    return relevance;
  }

  /** A number that begins neither a Position nor a complement: says what would have made it one. */
  #refuseBareNumber(): void {
    const number = this.#cursor.peek();
    if (number.kind !== "number" || (number.text === "1" && this.#cursor.is("-", 1))) return;
    if (!INTEGER.test(number.text)) throw this.#cursor.expected(["an integer", ...FACTOR]);
    this.#cursor.take();
    throw this.#cursor.expected(number.text === "1" ? ['"]"', '":"', '"-"'] : ['"]"', '":"']);
  }

  // --- Relevance = Factor , { ( "*" | "·" ) , Factor } ;
  #relevance(): Relevance {
    const first = this.#factor();
    if (!this.#cursor.is("*")) return first;
    const times = this.#cursor.peek();
    const factors = [first];
    while (this.#cursor.is("*")) {
      this.#cursor.take();
      factors.push(this.#factor());
    }
    const product = Object.freeze<Relevance>({ kind: "product", factors: Object.freeze(factors) });
    if (factors.some((factor) => this.#bare.has(factor))) this.#warnPrecedence(product, times);
    return product;
  }

  #warnPrecedence(product: Relevance, times: Token): void {
    const { line, column } = locate(this.#text, times.start);
    this.#warnings.push(
      Object.freeze<QueryWarning>({
        code: "complement_precedence",
        message: `Line ${line}, column ${column}: "1-" binds tighter than "*", so this is read as ${printRelevance(product)}. Write the parentheses.`,
      }),
    );
  }

  // --- Factor = "1" , "-" , Factor | Mean | "(" , Relevance , ")" | Combine | Aggregate | Local | Comparison ;
  #factor(): Relevance {
    const token = this.#cursor.peek();
    if (token.kind === "number" && token.text === "1" && this.#cursor.is("-", 1)) return this.#complement();
    if (token.kind === "(") return this.#parenthesis();
    if (token.kind === "[") return this.#bracketed();
    if (token.kind !== "name") throw this.#cursor.expected(FACTOR);
    if (FOLDS.has(token.text) && this.#cursor.is("(", 1)) return this.#fold(token.text as Fold);
    return this.#bareLeaf();
  }

  #complement(): Relevance {
    const operand = this.#nested(() => {
      this.#cursor.take();
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
      while (this.#cursor.is("+")) {
        this.#cursor.take();
        list.push(this.#relevance());
      }
      return list;
    });
    this.#cursor.expect(")", ['"*"', '"+"', '")"']);
    const [only] = terms;
    if (terms.length === 1 && only !== undefined) {
      this.#bare.delete(only);
      return only;
    }
    this.#cursor.expect("/", [`"/${terms.length}"`]);
    const divisor = this.#cursor.peek();
    if (divisor.kind !== "number") throw this.#cursor.expected([`"${terms.length}"`]);
    if (divisor.text !== String(terms.length)) {
      const message = `this mean has ${terms.length} terms, so it is divided by ${terms.length}, not by ${divisor.text}.`;
      throw this.#cursor.error("mean_count", message, [`"${terms.length}"`]);
    }
    this.#cursor.take();
    return Object.freeze<Relevance>({ kind: "mean", terms: Object.freeze(terms) });
  }

  #aggregate(fold: Fold): Relevance {
    if (this.#aggregates === LIMITS.queryAggregates) {
      const message = `a query has at most ${LIMITS.queryAggregates} aggregates.`;
      throw this.#cursor.error("too_many_aggregates", message, ["a relevance"]);
    }
    this.#aggregates++;
    return { kind: "aggregate", fold, path: this.#query(")", '")"') };
  }

  // --- Combine = Fold , "(" , Relevance , "," , … , ")" ;   Aggregate = Fold , "(" , Query , ")" ;
  #fold(fold: Fold): Relevance {
    this.#cursor.take();
    const relevance = this.#nested((): Relevance => {
      if (this.#cursor.is("/") || this.#cursor.is("//")) return this.#aggregate(fold);
      const first = this.#cursor.peek();
      if (!this.#beginsFactor(first)) throw this.#cursor.expected(['"/"', '"//"', ...FACTOR]);
      const terms = [this.#relevance()];
      if (!this.#cursor.is(","))
        throw this.#cursor.expected(['"*"', '","'], "a fold takes two relevances or more, or a path");
      while (this.#cursor.is(",")) {
        this.#cursor.take();
        terms.push(this.#relevance());
      }
      if (!this.#cursor.is(")")) throw this.#cursor.expected(['"*"', '","', '")"']);
      return { kind: "combine", fold, terms: Object.freeze(terms) };
    });
    this.#cursor.expect(")", ['")"']);
    return Object.freeze(relevance);
  }

  #beginsFactor(token: Token): boolean {
    return token.kind === "name" || token.kind === "(" || token.kind === "[" || token.kind === "number";
  }

  // --- "[" , BareLocal , "]"  and  "[" , BareComp , "]"
  #bracketed(): Relevance {
    this.#cursor.take();
    if (!this.#cursor.is("name")) throw this.#cursor.expected(['"node"', "an attribute's name"]);
    const leaf = this.#bareLeaf();
    this.#cursor.expect("]", ['"]"']);
    return leaf;
  }

  // --- BareLocal = ( "node" | Name ) , ( "~=" | "~" | "≈" ) , String ;   BareComp = Name , operator , ( String | Number ) ;
  #bareLeaf(): Local | Comparison {
    const name = this.#cursor.take();
    const operator = this.#cursor.peek();
    if (operator.kind === "~=") {
      this.#cursor.take();
      const text = this.#cursor.peek();
      if (text.kind !== "string") throw this.#cursor.expected(["a string"], inQuotes(text));
      this.#cursor.take();
      return this.#node<Local>({ kind: "local", field: name.text === "node" ? "" : name.text, text: text.value }, name);
    }
    if (!COMPARISONS.has(operator.kind)) {
      throw this.#cursor.expected(OPERATORS, withoutOperator(name, operator));
    }
    this.#cursor.take();
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
    const sign = this.#cursor.peek();
    const negative = sign.kind === "-" && this.#cursor.is("number", 1) && this.#cursor.peek(1).start === sign.end;
    if (negative) this.#cursor.take();
    const token = this.#cursor.peek();
    if (token.kind === "string") {
      this.#cursor.take();
      return token.value;
    }
    if (token.kind !== "number") throw this.#cursor.expected(["a string", "a number"]);
    const size = Number(token.text);
    if (!Number.isFinite(size)) {
      throw this.#cursor.error("syntax_error", "this number is too large for a 64-bit float.", ["a finite number"]);
    }
    this.#cursor.take();
    return negative && size !== 0 ? -size : size;
  }

  /** Takes the opening token and reads what it nests. */
  #nested<T>(body: () => T): T {
    if (this.#depth === LIMITS.queryNesting) throw this.#tooDeep(this.#cursor.peek());
    this.#depth++;
    this.#cursor.take();
    const result = body();
    this.#depth--;
    return result;
  }

  #node<T extends Step | Local | Comparison>(node: T, token: Token): T {
    this.#offsets.set(node, token.start);
    return Object.freeze(node);
  }

  #tooDeep(token: Token): EspalierError {
    return queryError(this.#text, {
      code: "query_too_deep",
      message: `brackets, parentheses, folds and complements nest at most ${LIMITS.queryNesting} deep.`,
      offset: token.start,
      expected: ["a flatter query"],
    });
  }
}
