import { LRUCache } from "lru-cache";
import { LIMITS } from "#core";
import { limitWarnings, parse, type ParsedQuery, plan, type Plan, type QueryWarning, validate } from "#query";
import type { Memory, MemorySchema } from "../memory.js";
import type { TreeStore } from "../ports/tree-store.js";

/** A query that is ready to be evaluated. */
export interface CompiledQuery {
  readonly plan: Plan;
  /** `parse(canonical)` is the same tree. */
  readonly canonical: string;
  /** The parser's, then the validator's; at most LIMITS.queryWarnings and one that counts the rest. */
  readonly warnings: readonly QueryWarning[];
}

/**
 * Texts to plans. Parses and plans are kept by text, validations by text and schema version, schemas by schema version, all
 * bounded. Only a schema that changed costs a store call.
 */
export class QueryCompiler {
  readonly #parsed = new LRUCache<string, { readonly query: ParsedQuery; readonly plan: Plan }>({
    max: LIMITS.cachedQueries,
  });
  readonly #validated = new LRUCache<string, readonly QueryWarning[]>({ max: LIMITS.cachedQueries });
  readonly #schemas = new LRUCache<string, MemorySchema>({ max: LIMITS.cachedSchemas });

  constructor(private readonly tree: Pick<TreeStore, "schema">) {}

  /**
   * @param memory whose schema the names are checked against; absent: names are not checked.
   * @throws EspalierError the parser's located errors, `unknown_type`, `unknown_attribute`, `memory_not_found`
   */
  async compile(text: string, memory?: Memory): Promise<CompiledQuery> {
    const compiled = this.#parsed.get(text) ?? this.#parse(text);
    const { query } = compiled;
    const found = memory === undefined ? [] : await this.#validate(query, memory);
    return { plan: compiled.plan, canonical: query.canonical, warnings: limitWarnings([...query.warnings, ...found]) };
  }

  #parse(text: string): { readonly query: ParsedQuery; readonly plan: Plan } {
    const query = parse(text);
    const compiled = { query, plan: plan(query.ast) };
    this.#parsed.set(text, compiled);
    return compiled;
  }

  async #validate(query: ParsedQuery, memory: Memory): Promise<readonly QueryWarning[]> {
    const version = `${memory.id}/${memory.schemaVersion}`;
    const known = this.#validated.get(`${version}\n${query.text}`);
    if (known !== undefined) return known;
    const warnings = validate(query, await this.#schema(memory, version));
    this.#validated.set(`${version}\n${query.text}`, warnings);
    return warnings;
  }

  async #schema(memory: Memory, version: string): Promise<MemorySchema> {
    const known = this.#schemas.get(version);
    if (known !== undefined) return known;
    const schema = await this.tree.schema({ tenant: memory.tenant, memory: memory.id });
    // A commit may have come between: the schema is kept under the version that it says it has.
    this.#schemas.set(`${memory.id}/${schema.version}`, schema);
    return schema;
  }
}
