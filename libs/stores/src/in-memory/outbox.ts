import { fieldText, LIMITS, type MemoryScope } from "#core";
import type {
  ClaimedRow,
  Outbox,
  OutboxRow,
  OutboxTask,
  Outstanding,
  PointExpectation,
  PointRef,
  StoredPoint,
  TenantBacklog,
} from "#memory";
import { fingerprintOf } from "../point-fingerprint.js";
import { findState, hasText, isCurrent, isRowOf, newRow, putRows, rowKey, trackField } from "./outbox-rows.js";
import { keyOfScope, type OutboxTables, type StoredRow, type Tables } from "./tables.js";

/** The outbox as an array, oldest first: every call looks at every row. */
export class InMemoryOutbox implements Outbox {
  constructor(
    private readonly tables: Tables,
    private readonly outbox: OutboxTables,
  ) {}

  async backlog(limit: number, rowsPerTenant = LIMITS.relayTenantRows): Promise<readonly TenantBacklog[]> {
    this.tables.checkOpen();
    const free = Map.groupBy(
      this.outbox.rows.filter((row) => this.#isFree(row)),
      ({ scope }) => scope.tenant,
    );
    return [...free].slice(0, limit).map(([tenant, rows]) => ({ tenant, rows: Math.min(rows.length, rowsPerTenant) }));
  }

  async claim(
    tenant: string,
    { id, rows: limit, tokens, leaseMs }: Parameters<Outbox["claim"]>[1],
  ): Promise<readonly ClaimedRow[]> {
    this.tables.checkOpen();
    const claimed: StoredRow[] = [];
    let sum = 0;
    for (const row of this.outbox.rows.filter((one) => one.scope.tenant === tenant && this.#isFree(one))) {
      if (claimed.length === limit || sum >= tokens) break;
      claimed.push(row);
      sum += row.tokens;
    }
    this.#replace(claimed, (row) => ({ ...row, claim: id, due: this.#now() + leaseMs }));
    return claimed.map((row) => this.#told(row));
  }

  async claimed(id: string, leaseMs: number): Promise<readonly OutboxRow[]> {
    this.tables.checkOpen();
    const rows = this.outbox.rows.filter(({ claim }) => claim === id);
    this.#replace(rows, (row) => ({ ...row, due: this.#now() + leaseMs }));
    return rows.map((row) => ({ ...this.#told(row), text: this.#textOf(row) }));
  }

  async release(id: string, afterMs: number): Promise<void> {
    this.tables.checkOpen();
    const rows = this.outbox.rows.filter(({ claim }) => claim === id);
    this.#replace(rows, (row) => ({ ...row, claim: undefined, due: this.#now() + afterMs }));
  }

  async fail(
    id: string,
    rows: readonly PointRef[],
    { code, message, afterMs, final }: Parameters<Outbox["fail"]>[2],
  ): Promise<void> {
    this.tables.checkOpen();
    const failed = this.outbox.rows.filter(
      (row) => row.claim === id && rows.some((point) => rowKey(row.scope, point) === rowKey(row.scope, row)),
    );
    this.#replace(failed, (row) => ({
      ...row,
      claim: undefined,
      failures: row.failures + 1,
      due: this.#now() + afterMs,
      ...(final && { failure: { code, message } }),
    }));
  }

  async retry(scope?: MemoryScope): Promise<number> {
    this.tables.checkOpen();
    const isOfMemory = scope === undefined ? () => true : isRowOf(scope);
    const failed = this.outbox.rows.filter((row) => row.failure !== undefined && isOfMemory(row));
    this.#replace(failed, (row) => ({ ...row, failure: undefined, failures: 0, due: 0 }));
    return failed.length;
  }

  async unfinished(jobs: Parameters<Outbox["unfinished"]>[0]): Promise<ReadonlySet<string>> {
    return new Set((await this.outstanding(jobs)).keys());
  }

  async outstanding(jobs: Parameters<Outbox["outstanding"]>[0]): Promise<ReadonlyMap<string, Outstanding>> {
    this.tables.checkOpen();
    const found = jobs.map(({ tenant, job }): readonly [string, Outstanding] => {
      const rows = this.outbox.rows.filter((row) => row.scope.tenant === tenant && row.job === job);
      const failures = rows.flatMap(({ failure }) => failure ?? []);
      const [error] = failures;
      return [job, { rows: rows.length, failed: failures.length, ...(error !== undefined && { error }) }];
    });
    return new Map(found.filter(([, { rows }]) => rows > 0));
  }

  async track(scope: MemoryScope, model: string, field: string): Promise<void> {
    trackField(this.outbox, scope, this.tables.find(scope), { model, field });
  }

  async former(scope: MemoryScope): Promise<readonly string[]> {
    const stored = this.tables.find(scope);
    const models = new Set(stored.tracked.map(({ model }) => model));
    return [...models].filter((model) => !isCurrent(stored, model));
  }

  async tracked(scope: MemoryScope, model: string): Promise<readonly string[]> {
    const { tracked } = this.tables.find(scope);
    return tracked
      .filter((one) => one.model === model)
      .map(({ field }) => field)
      .sort();
  }

  async enqueue(scope: MemoryScope, rows: readonly (PointRef & { readonly task: OutboxTask })[]): Promise<number> {
    const stored = this.tables.find(scope);
    const added = rows.flatMap(({ id, born, model, field, task }) => {
      const state = findState(stored, { id, born });
      if (state === undefined || !hasText(state, field)) return [];
      return [newRow(scope, state, { model, field, task })];
    });
    return putRows(this.outbox, added);
  }

  async expectation(scope: MemoryScope, model: string): Promise<PointExpectation> {
    const points = this.#expected(scope, model);
    const isOfMemory = isRowOf(scope);
    const rows = this.outbox.rows.filter((row) => row.model === model && isOfMemory(row));
    const failed = rows.filter(({ failure }) => failure !== undefined).length;
    return { fingerprint: fingerprintOf(points), pending: rows.length, failed };
  }

  async expected(
    scope: MemoryScope,
    model: string,
    { after, limit }: { readonly after?: string; readonly limit: number },
  ): Promise<{ readonly points: readonly StoredPoint[]; readonly next?: string }> {
    const all = this.#expected(scope, model);
    const start = after === undefined ? 0 : all.findIndex((point) => pageKey(point) > after);
    const rest = start < 0 ? [] : all.slice(start);
    const points = rest.slice(0, limit);
    const last = points.at(-1);
    return { points, ...(rest.length > limit && last !== undefined && { next: pageKey(last) }) };
  }

  async memories({
    after,
    limit,
  }: {
    readonly after?: string;
    readonly limit: number;
  }): ReturnType<Outbox["memories"]> {
    this.tables.checkOpen();
    const keys = [...this.tables.memories.keys()].sort().filter((key) => after === undefined || key > after);
    const memories = keys.slice(0, limit).flatMap((key) => {
      const stored = this.tables.memories.get(key);
      if (stored === undefined) return [];
      const models = new Set(stored.tracked.map(({ model }) => model));
      return [{ scope: { tenant: stored.memory.tenant, memory: stored.memory.id }, models: [...models] }];
    });
    const next = keys.length > limit ? keys[limit - 1] : undefined;
    return { memories, ...(next !== undefined && { next }) };
  }

  async tombstones(limit: number, idleMs: number): Promise<readonly MemoryScope[]> {
    this.tables.checkOpen();
    return [...this.outbox.tombstones.values()]
      .filter(({ time }) => time <= this.#now() - idleMs)
      .slice(0, limit)
      .map(({ scope }) => scope);
  }

  async bury(scope: MemoryScope): Promise<void> {
    this.tables.checkOpen();
    this.outbox.tombstones.delete(keyOfScope(scope));
  }

  /** Points that the vector store should hold and that have no row. */
  #expected(scope: MemoryScope, model: string): readonly StoredPoint[] {
    const stored = this.tables.find(scope);
    const pending = new Set(this.outbox.rows.map((row) => rowKey(row.scope, row)));
    const fields = stored.tracked.filter((one) => one.model === model).map(({ field }) => field);
    return stored.states
      .flatMap((state) =>
        fields
          .filter((field) => hasText(state, field) && !pending.has(rowKey(scope, { ...state, model, field })))
          .map((field): StoredPoint => {
            const { id, born, died } = state;
            return { id, born, field, ...(died !== Infinity && { died }) };
          }),
      )
      .sort((left, right) => (pageKey(left) < pageKey(right) ? -1 : 1));
  }

  #told({ scope, id, born, field, model, task, job, tokens, failures }: StoredRow): ClaimedRow {
    return { scope, id, born, field, model, task, tokens, failures, ...(job !== undefined && { job }) };
  }

  #textOf({ scope, id, born, field, task }: StoredRow): string {
    const state = findState(this.tables.find(scope), { id, born });
    return task === "payload" || state === undefined ? "" : (fieldText(state, field) ?? "");
  }

  #replace(rows: readonly StoredRow[], change: (row: StoredRow) => StoredRow): void {
    const changed = new Set(rows);
    this.outbox.rows = this.outbox.rows.map((row) => (changed.has(row) ? change(row) : row));
  }

  #isFree({ due, failure }: StoredRow): boolean {
    return failure === undefined && due <= this.#now();
  }

  #now(): number {
    return this.outbox.clock.now();
  }
}

/** Orders points by id, born and field. */
const pageKey = ({ id, born, field }: StoredPoint): string => `${id}\n${String(born).padStart(16, "0")}\n${field}`;
