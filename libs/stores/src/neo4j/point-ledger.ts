import { type MemoryScope, NODE_FIELD, type NodeFilter, type NodeKey } from "#core";
import type { StoredPoint } from "#memory";
import type { StateRef } from "#scoring";
import type { PendingPage, PointLedger, PointSource, Settlement, Standing } from "../distributed/point-ledger.js";
import { leftModel } from "../distributed/left-model.js";
import { outermostPaths } from "../outermost-paths.js";
import type { Database } from "./database.js";
import { LEDGER } from "./ledger-statements.js";
import { memoryKey, memoryNotFound } from "./memory-key.js";
import { NEVER } from "./node-rows.js";
import { rowKey, type TrackedField } from "./outbox-rows.js";
import { track, untrack } from "./outbox-tracking.js";
import { type SourceColumns, textOf } from "./source-columns.js";
import { LOCK_TENANT, lockOf } from "./tenant-lock.js";
import { countPage } from "./term-counting.js";
import { above, below } from "./tree-reads.js";

interface KeyColumns extends Omit<NodeKey, "parentId">, SourceColumns {
  /** `""` for a child of the root. */
  readonly parent: string;
  readonly died: number | null;
}

interface HeadColumns {
  readonly revision: number;
  readonly model: string;
  readonly next: string | null;
}

interface StandingColumns {
  readonly model: string;
  readonly nodes: number;
  readonly waits: boolean;
  readonly id: string | null;
  readonly born: number | null;
  readonly died: number | null;
}

interface StatisticsColumns {
  readonly term: string | null;
  readonly documents: number;
  readonly revision: number | null;
}

interface WitnessColumns {
  readonly model: string;
  readonly field: string | null;
  readonly id: string | null;
  readonly born: number | null;
  readonly died: number | null;
}

/** What a vector store that lies apart needs of the trees in Neo4j. */
export class Neo4jPointLedger implements PointLedger {
  constructor(private readonly database: Database) {}

  async memory(scope: MemoryScope): ReturnType<PointLedger["memory"]> {
    const [{ model, next, revision }] = await this.#read<HeadColumns>(LEDGER.memory, scope, {});
    return { model, revision, ...(next !== null && { next }) };
  }

  async sources(
    scope: MemoryScope,
    refs: readonly (StateRef & { readonly field: string })[],
  ): Promise<readonly PointSource[]> {
    const named = refs.map(({ id, born, field }) => ({ id, born, field }));
    const rows = await this.#read<KeyColumns | { readonly id: null }>(LEDGER.sources, scope, { refs: named });
    return rows.flatMap((row) => (row.id === null ? [] : sourcesOf(row)));
  }

  async pending(
    scope: MemoryScope,
    { model, field, revision }: Parameters<PointLedger["pending"]>[1],
    { filter, after, limit }: Parameters<PointLedger["pending"]>[2],
  ): Promise<PendingPage> {
    if (after === undefined) await this.#track(scope, { model, field });
    const rows = await this.#query<KeyColumns>(LEDGER.pending, {
      ...{ memory: memoryKey(scope), model, field, revision, limit },
      ...{ type: filter?.type ?? null, parents: parentsOf(filter), ranges: rangesOf(filter, after) },
    });
    const last = rows.at(-1);
    return {
      points: rows.flatMap(sourcesOf),
      ...(rows.length === limit && last !== undefined && { next: last.pathKey }),
    };
  }

  async pendingAmong(
    scope: MemoryScope,
    { model, field }: Parameters<PointLedger["pendingAmong"]>[1],
    states: readonly StateRef[],
  ): Promise<readonly PointSource[]> {
    const memory = memoryKey(scope);
    const keys = states.map(({ id, born }) => rowKey(memory, { model, field, id, born }));
    const found = await this.#query<KeyColumns>(LEDGER.pendingAmong, { memory, field, keys });
    return found.flatMap(sourcesOf);
  }

  async standing(
    scope: MemoryScope,
    { model: named, field }: Parameters<PointLedger["standing"]>[1],
    limit: number,
  ): Promise<Standing> {
    const rows = await this.#read<StandingColumns>(LEDGER.standing, scope, { model: named ?? null, field, limit });
    const [{ model, nodes, waits }] = rows;
    const ended = rows.flatMap(({ id, born, died }) =>
      id === null || born === null ? [] : [{ id, born, field, ...(died !== null && { died }) }],
    );
    return { model, nodes, waits, ended };
  }

  async settle(scope: MemoryScope, model: string, points: readonly StoredPoint[]): Promise<Settlement> {
    const memory = memoryKey(scope);
    const told = points.map((point) => ({
      ...{ key: rowKey(memory, { ...point, model }), id: point.id, born: point.born, field: point.field },
      died: point.died ?? NEVER,
    }));
    const last = [...new Map(told.map((point) => [point.field, point])).values()];
    return this.database.write(async (transaction): Promise<Settlement> => {
      const [head] = await transaction.run<HeadColumns>(LEDGER.lockHead, { memory });
      if (head === undefined) return "gone";
      if (model !== head.model && model !== head.next) return "left";
      // In this order, and no one waits for the answer of the one before.
      await Promise.all([
        transaction.run(LOCK_TENANT, { lock: lockOf(scope.tenant) }),
        transaction.run(LEDGER.settle, { memory, tenant: scope.tenant, model, points: told, never: NEVER }),
        transaction.run(LEDGER.witness, { memory, model, points: last }),
      ]);
      return "settled";
    });
  }

  async witnesses(scope: MemoryScope): Promise<{ readonly model: string; readonly points: readonly StoredPoint[] }> {
    const rows = await this.#read<WitnessColumns>(LEDGER.witnesses, scope, {});
    const [{ model }] = rows;
    const points = rows.flatMap(({ field, id, born, died }) =>
      field === null || id === null || born === null
        ? []
        : [{ id, born, field, ...(died !== null && died < NEVER && { died }) }],
    );
    return { model, points };
  }

  async untrack(scope: MemoryScope): Promise<void> {
    await untrack(this.database, scope);
  }

  async indexedFields(scope: MemoryScope): Promise<readonly string[]> {
    const rows = await this.#read<{ readonly field: string | null }>(LEDGER.indexedFields, scope, {});
    return [NODE_FIELD, ...rows.flatMap(({ field }) => field ?? [])];
  }

  async isIndexed(scope: MemoryScope, field: string): Promise<boolean> {
    const [{ indexed }] = await this.#read<{ readonly indexed: boolean }>(LEDGER.isIndexed, scope, { field });
    return field === NODE_FIELD || indexed;
  }

  async indexPage(scope: MemoryScope, field: string): Promise<boolean> {
    const { model, isDone } = await this.database.write((transaction) => countPage(transaction, scope, field));
    if (isDone) await track(this.database, scope, { model, field });
    return isDone;
  }

  async statistics(scope: MemoryScope, field: string, terms: readonly string[]): ReturnType<PointLedger["statistics"]> {
    const rows = await this.#read<StatisticsColumns>(LEDGER.statistics, scope, { field, terms: [...new Set(terms)] });
    const whole = rows.at(-1);
    if (typeof whole?.revision !== "number") throw memoryNotFound(scope);
    const { documents, revision } = whole;
    // Until a field is counted to its end, it has terms without documents.
    const counted = documents === 0 ? [] : rows;
    const frequencies = counted.flatMap((row) => (row.term === null ? [] : [[row.term, row.documents] as const]));
    return { documents, frequencies: new Map(frequencies), revision };
  }

  /** A field that was not tracked is tracked before its rows say anything. */
  async #track(scope: MemoryScope, of: TrackedField): Promise<void> {
    const [tracked] = await this.#read<{ readonly done: boolean | null; readonly current: boolean | null }>(
      LEDGER.isTracked,
      scope,
      { ...of },
    );
    if (tracked.current !== true) throw leftModel(scope, of.model);
    if (tracked.done !== true) await track(this.database, scope, of);
  }

  /** Rows of a statement that has at least one where the memory is. */
  async #read<Row>(
    statement: string,
    scope: MemoryScope,
    parameters: Readonly<Record<string, unknown>>,
  ): Promise<readonly [Row, ...Row[]]> {
    const [first, ...rest] = await this.#query<Row>(statement, { ...parameters, memory: memoryKey(scope) });
    if (first === undefined) throw memoryNotFound(scope);
    return [first, ...rest];
  }

  async #query<Row>(statement: string, parameters: Readonly<Record<string, unknown>>): Promise<readonly Row[]> {
    return (await this.database.query(statement, parameters)).map((row) => row.toObject() as Row);
  }
}

/** Parents that a filter names; null if it names none. The root's children have the parent `""`. */
function parentsOf(filter: NodeFilter | undefined): readonly string[] | null {
  return filter?.scope.kind === "children" ? filter.scope.of.map((id) => id ?? "") : null;
}

/** The ranges of path keys, both ends excluded, in which a filter's nodes lie that come after a path. */
function rangesOf(
  filter: NodeFilter | undefined,
  after = "",
): readonly { readonly low: string; readonly high: string }[] {
  const paths = filter?.scope.kind === "descendants" ? outermostPaths(filter.scope.of) : [""];
  return paths
    .map((path) => ({ low: maximum(below(path), after), high: above(path) }))
    .filter(({ low, high }) => low < high);
}

const maximum = (one: string, other: string): string => (one > other ? one : other);

/** None if the field has no text. */
function sourcesOf({
  id,
  born,
  type,
  parent,
  pathKey,
  depth,
  died,
  field,
  source,
}: KeyColumns): readonly PointSource[] {
  const text = textOf({ field, source });
  if (text === "") return [];
  const parentId = parent === "" ? null : parent;
  return [{ id, born, type, parentId, pathKey, depth, field, text, ...(died !== null && { died }) }];
}
