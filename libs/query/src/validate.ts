/**
 * A query against the schema that its memory's data has. A name that occurs nowhere is an error; a name that occurs, but
 * not where the query looks for it, is a warning: the query means something, only likely not what was meant.
 */
import type { EspalierError } from "#core";
import type { Comparison, Local, Query, Relevance, Step } from "./ast.js";
import { nearNames } from "./near-names.js";
import type { ParsedQuery } from "./parse.js";
import { printStep } from "./print.js";
import { queryError } from "./query-error.js";
import { ROOT_TYPE, SchemaIndex, type QuerySchema } from "./schema-index.js";
import { locate } from "./source-location.js";
import type { QueryWarning } from "./warning.js";

/**
 * Checks the names of a query. A memory without nodes has no schema yet: nothing is refused, and the one warning is
 * that it is empty. O(query * schema).
 * @returns warnings `impossible_relation` and `attribute_not_on_type` in reading order, or `empty_memory`
 * @throws EspalierError `unknown_type`, `unknown_attribute` for the first name that occurs nowhere; details carry `name`,
 * `near` (known names, the nearest first), `line`, `column`, `caret` and `expected`
 */
export function validate(query: ParsedQuery, schema: QuerySchema): readonly QueryWarning[] {
  const index = new SchemaIndex(schema);
  if (!index.hasNodes) return [EMPTY];
  const validator = new Validator(query, index);
  validator.path(query.ast, new Set([ROOT_TYPE]));
  return Object.freeze(validator.warnings);
}

const EMPTY = Object.freeze<QueryWarning>({
  code: "empty_memory",
  message: "This memory is empty: nothing has been inserted yet.",
});

class Validator {
  readonly warnings: QueryWarning[] = [];

  constructor(
    private readonly query: ParsedQuery,
    private readonly schema: SchemaIndex,
  ) {}

  /** Follows the types that each step can stand on. */
  path(path: Query, from: ReadonlySet<string>): void {
    let contexts = from;
    for (const step of path.steps) {
      contexts = this.#step(step, contexts);
      for (const predicate of step.predicates) this.#relevance(predicate, contexts);
    }
  }

  #step(step: Step, contexts: ReadonlySet<string>): ReadonlySet<string> {
    const { type, axis } = step;
    if (type !== undefined && !this.schema.hasType(type)) throw this.#unknownType(step, type);
    const reachable = new Set<string>();
    for (const context of contexts) {
      const below = axis === "child" ? this.schema.childrenOf(context) : this.schema.descendantsOf(context);
      for (const found of below) if (type === undefined || found === type) reachable.add(found);
    }
    // Nothing stands on nothing: once a step is impossible, the steps after a wildcard need no warning of their own.
    if (reachable.size === 0 && contexts.size > 0) this.#impossible(step, contexts);
    return reachable.size === 0 && type !== undefined ? new Set([type]) : reachable;
  }

  #relevance(part: Relevance, contexts: ReadonlySet<string>): void {
    switch (part.kind) {
      case "product":
        for (const factor of part.factors) this.#relevance(factor, contexts);
        break;
      case "mean":
      case "combine":
        for (const term of part.terms) this.#relevance(term, contexts);
        break;
      case "complement":
        this.#relevance(part.operand, contexts);
        break;
      case "aggregate":
        this.path(part.path, contexts);
        break;
      case "local":
        if (part.field !== "") this.#name(part, part.field, contexts);
        break;
      case "comparison":
        this.#name(part, part.name, contexts);
        break;
    }
  }

  #name(leaf: Local | Comparison, name: string, contexts: ReadonlySet<string>): void {
    const known = this.schema.names;
    if (!known.has(name)) throw this.#unknownName(leaf, name, known);
    if (contexts.size === 0 || [...contexts].some((type) => this.schema.carries(type, name, leaf.kind))) return;
    const onMetadata = [...contexts].some((type) => this.schema.carries(type, name, "comparison"));
    const why = onMetadata
      ? "is metadata, which is compared but never scored"
      : `is no attribute of ${list(contexts)} in this memory`;
    this.#warn(leaf, "attribute_not_on_type", `"${name}" ${why}, so this is 0 for every node.`);
  }

  #impossible(step: Step, contexts: ReadonlySet<string>): void {
    const below = step.axis === "child" ? "directly below" : "below";
    const parents = [...contexts].map((type) => (type === ROOT_TYPE ? "the root" : type));
    const what = `no ${step.type ?? "node"} stands ${below} ${list(parents)} in this memory`;
    const deeper =
      step.axis === "child" &&
      step.type !== undefined &&
      [...contexts].some((type) => this.schema.descendantsOf(type).has(step.type ?? ""));
    const bare = printStep({ ...step, position: undefined, predicates: [] });
    const advice = deeper ? ` Deeper down there is: "/${bare}" finds it.` : "";
    this.#warn(step, "impossible_relation", `"${bare}" finds nothing: ${what}.${advice}`);
  }

  #warn(node: Step | Local | Comparison, code: QueryWarning["code"], sentence: string): void {
    const { line, column } = locate(this.query.text, this.query.offsetOf(node));
    this.warnings.push(Object.freeze<QueryWarning>({ code, message: `Line ${line}, column ${column}: ${sentence}` }));
  }

  #unknownType(step: Step, type: string): EspalierError {
    const near = nearNames(type, this.schema.types);
    const hint =
      type === ROOT_TYPE ? " It is the root, which is no row: a path begins with its children." : suggestion(near);
    return queryError(this.query.text, {
      code: "unknown_type",
      message: `no node of this memory has the type "${type}".${hint}`,
      offset: this.query.offsetOf(step),
      expected: near,
      details: { name: type, near },
    });
  }

  #unknownName(leaf: Local | Comparison, name: string, known: ReadonlySet<string>): EspalierError {
    const near = nearNames(name, known);
    const hint = name === "node" ? ' The text of a node is scored with node~="…", and not compared.' : suggestion(near);
    return queryError(this.query.text, {
      code: "unknown_attribute",
      message: `no node of this memory has an attribute or metadata entry "${name}".${hint}`,
      offset: this.query.offsetOf(leaf),
      expected: near,
      details: { name, near },
    });
  }
}

function suggestion(near: readonly string[]): string {
  return near.length === 0 ? "" : ` Did you mean ${near.map((name) => `"${name}"`).join(" or ")}?`;
}

function list(names: Iterable<string>): string {
  return [...names].join(" or ");
}
