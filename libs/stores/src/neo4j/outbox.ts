import { LIMITS, type MemoryScope } from "#core";
import type {
  ClaimedRow,
  Outbox,
  OutboxRow,
  OutboxTask,
  Outstanding,
  PointExpectation,
  PointRef,
  TenantBacklog,
} from "#memory";
import type { Database, Transaction } from "./database.js";
import { expectation, expected } from "./expected-points.js";
import { forget, removeRows } from "./delete-memory.js";
import { memoryKey, memoryNotFound } from "./memory-key.js";
import { type NewRow, OUTBOX_ROWS, rowsOf } from "./outbox-rows.js";
import { NEXT_TENANTS, OUTBOX } from "./outbox-statements.js";
import { formerModels, track, TRACKING } from "./outbox-tracking.js";
import { type SourceColumns, textOf } from "./source-columns.js";
import { stateOf, type StateColumns } from "./state-columns.js";
import { LOCK_TENANT, lockOf } from "./tenant-lock.js";

/** Rows that one transaction of `retry` frees. */
const RETRIED_ROWS = 5_000;

interface RowColumns {
  readonly tenant: string;
  /** The memory's key. */
  readonly memory: string;
  readonly id: string;
  readonly born: number;
  readonly field: string;
  readonly model: string;
  readonly task: OutboxTask;
  readonly tokens: number;
  readonly job: string | null;
  readonly failures: number;
}

interface TenantColumns {
  readonly tenant: string;
  readonly rows: number;
  /** Server's milliseconds of the oldest row; null if there is none. */
  readonly since: number | null;
}

/** The outbox as `:Outbox` nodes beside the trees; see outbox-rows.ts for who writes them. Times are the server's. */
export class Neo4jOutbox implements Outbox {
  /** The tenant that the last search by name ended at: the next goes on there, so that all come up in time. */
  #searched = "";

  constructor(private readonly database: Database) {}

  /**
   * Tenants with rows are found by name, by seeks in the index, and the oldest free rows of each are counted: nothing is read
   * of a flood beyond that. Of more tenants than `limit`, the next call goes on with the others.
   */
  async backlog(limit: number, rowsPerTenant = LIMITS.relayTenantRows): Promise<readonly TenantBacklog[]> {
    return this.database.read(async (transaction) => {
      const tenants = await this.#searchTenants(transaction, limit);
      if (tenants.length === 0) return [];
      const found = await transaction.run<TenantColumns>(OUTBOX.ofTenants, { tenants, rows: rowsPerTenant });
      return found
        .filter(({ rows }) => rows > 0)
        .sort((left, right) => (left.since ?? 0) - (right.since ?? 0))
        .map(({ tenant, rows }) => ({ tenant, rows }));
    });
  }

  async claim(
    tenant: string,
    { id, rows, tokens, leaseMs }: Parameters<Outbox["claim"]>[1],
  ): Promise<readonly ClaimedRow[]> {
    const parameters = { lock: lockOf(tenant), tenant, claim: id, rows, tokens, leaseMs };
    const claimed = await this.database.write((transaction) => transaction.run<RowColumns>(OUTBOX.claim, parameters));
    return claimed.map(rowOf);
  }

  async claimed(id: string, leaseMs: number): Promise<readonly OutboxRow[]> {
    const rows = await this.#ofClaim(id, (transaction) =>
      transaction.run<RowColumns & SourceColumns>(OUTBOX.claimed, { claim: id, leaseMs }),
    );
    return (rows ?? []).map((row) => ({ ...rowOf(row), text: textOf(row) }));
  }

  async release(id: string, afterMs: number): Promise<void> {
    await this.#ofClaim(id, (transaction) => transaction.run(OUTBOX.release, { claim: id, afterMs }));
  }

  async fail(
    id: string,
    rows: readonly PointRef[],
    { code, message, afterMs, final }: Parameters<Outbox["fail"]>[2],
  ): Promise<void> {
    const points = rows.map(({ id: node, born, field, model }) => [node, born, field, model]);
    await this.#ofClaim(id, (transaction) =>
      final
        ? transaction.run(OUTBOX.giveUp, { claim: id, points, code, message })
        : transaction.run(OUTBOX.fail, { claim: id, points, afterMs }),
    );
  }

  async retry(scope?: MemoryScope): Promise<number> {
    if (scope !== undefined) {
      return this.#free(scope.tenant, OUTBOX.retryMemory, { memory: memoryKey(scope) });
    }
    let freed = 0;
    for (;;) {
      const [next] = await this.database.read((transaction) =>
        transaction.run<{ readonly tenant: string }>(OUTBOX.tenantOfFailed, {}),
      );
      if (next === undefined) return freed;
      freed += await this.#free(next.tenant, OUTBOX.retryTenant, next);
    }
  }

  async unfinished(jobs: Parameters<Outbox["unfinished"]>[0]): Promise<ReadonlySet<string>> {
    const found = await this.database.read((transaction) =>
      transaction.run<{ readonly job: string }>(OUTBOX.unfinished, { jobs }),
    );
    return new Set(found.map(({ job }) => job));
  }

  async outstanding(jobs: Parameters<Outbox["outstanding"]>[0]): Promise<ReadonlyMap<string, Outstanding>> {
    const found = await this.database.read((transaction) =>
      transaction.run<{
        readonly job: string;
        readonly rows: number;
        readonly failed: number;
        readonly error: string | null;
      }>(OUTBOX.outstanding, { jobs }),
    );
    return new Map(found.map(({ job, rows, failed, error }) => [job, { rows, failed, ...errorOf(error) }]));
  }

  async track(scope: MemoryScope, model: string, field: string): Promise<void> {
    await track(this.database, scope, { model, field });
  }

  former(scope: MemoryScope): Promise<readonly string[]> {
    return formerModels(this.database, scope);
  }

  async tracked(scope: MemoryScope, model: string): Promise<readonly string[]> {
    const rows = await this.database.read((transaction) =>
      transaction.run<{ readonly field: string | null }>(TRACKING.fields, { memory: memoryKey(scope), model }),
    );
    if (rows.length === 0) throw memoryNotFound(scope);
    return rows.flatMap(({ field }) => field ?? []);
  }

  async enqueue(scope: MemoryScope, rows: readonly (PointRef & { readonly task: OutboxTask })[]): Promise<number> {
    const memory = memoryKey(scope);
    return this.database.write(async (transaction) => {
      const [locked] = await transaction.run(TRACKING.lockMemory, { memory });
      if (locked === undefined) throw memoryNotFound(scope);
      await transaction.run(LOCK_TENANT, { lock: lockOf(scope.tenant) });
      const states = rows.map(({ id, born }) => ({ id, born }));
      const found = await transaction.run<StateColumns>(OUTBOX.states, { memory, states });
      const written = await transaction.run<{ readonly added: number }>(OUTBOX_ROWS.write, {
        ...{ tenant: scope.tenant, memory },
        rows: rowsOfPoints(memory, rows, found),
      });
      return written[0]?.added ?? 0;
    });
  }

  async expectation(scope: MemoryScope, model: string): Promise<PointExpectation> {
    return expectation(this.database, scope, model);
  }

  async expected(
    scope: MemoryScope,
    model: string,
    page: { readonly after?: string; readonly limit: number },
  ): ReturnType<Outbox["expected"]> {
    return expected(this.database, scope, model, page);
  }

  async memories({
    after = "",
    limit,
  }: {
    readonly after?: string;
    readonly limit: number;
  }): ReturnType<Outbox["memories"]> {
    const rows = await this.database.read((transaction) =>
      transaction.run<{
        readonly key: string;
        readonly tenant: string;
        readonly memory: string;
        readonly model: string | null;
      }>(OUTBOX.memories, { after, limit }),
    );
    const memories = [...Map.groupBy(rows, ({ key }) => key).values()].flatMap((pairs) =>
      pairs.slice(0, 1).map(({ tenant, memory }) => ({
        scope: { tenant, memory },
        models: pairs.flatMap(({ model }) => model ?? []),
      })),
    );
    const last = rows.at(-1);
    return { memories, ...(memories.length === limit && last !== undefined && { next: last.key }) };
  }

  async tombstones(limit: number, idleMs: number): Promise<readonly MemoryScope[]> {
    return this.database.read((transaction) => transaction.run<MemoryScope>(OUTBOX.tombstones, { limit, idleMs }));
  }

  /** Rows that a deletion left when its process died go first. */
  async bury(scope: MemoryScope): Promise<void> {
    await removeRows(this.database, scope);
    await forget(this.database, scope);
  }

  /** Up to `limit` tenants that have rows: those after where the last search ended, then the others. */
  async #searchTenants(transaction: Transaction, limit: number): Promise<readonly string[]> {
    const start = this.#searched;
    const later = await tenantsAfter(transaction, start, limit);
    const isRound = start === "" || later.length === limit;
    const all = isRound ? [] : await tenantsAfter(transaction, "", limit - later.length);
    const found = [...later, ...all.filter((tenant) => tenant <= start)];
    this.#searched = found.length < limit ? "" : (found.at(-1) ?? "");
    return found;
  }

  /** Frees rows that were given up, in bounded transactions. */
  async #free(tenant: string, statement: string, parameters: Readonly<Record<string, unknown>>): Promise<number> {
    let sum = 0;
    for (;;) {
      const freed = await this.database.write(async (transaction) => {
        await transaction.run(LOCK_TENANT, { lock: lockOf(tenant) });
        const page = { ...parameters, limit: RETRIED_ROWS };
        const [row] = await transaction.run<{ readonly freed: number }>(statement, page);
        return row?.freed ?? 0;
      });
      sum += freed;
      if (freed < RETRIED_ROWS) return sum;
    }
  }

  /** Works on the rows of a claim under its tenant's lock; undefined if it has none. */
  async #ofClaim<T>(claim: string, work: (transaction: Transaction) => Promise<T>): Promise<T | undefined> {
    return this.database.write(async (transaction) => {
      const [found] = await transaction.run<{ readonly tenant: string }>(OUTBOX.tenantOfClaim, { claim });
      if (found === undefined) return undefined;
      await transaction.run(LOCK_TENANT, { lock: lockOf(found.tenant) });
      return work(transaction);
    });
  }
}

/** Up to `limit` tenants with rows after a name, by name. */
async function tenantsAfter(transaction: Transaction, start: string, limit: number): Promise<readonly string[]> {
  const found: string[] = [];
  let after = start;
  while (found.length < limit) {
    const [row] = await transaction.run<{ readonly tenants: readonly string[] }>(OUTBOX.tenantsAfter, { after });
    const next = row?.tenants ?? [];
    found.push(...next);
    after = next.at(-1) ?? after;
    if (next.length < NEXT_TENANTS) break;
  }
  return found.slice(0, limit);
}

function rowOf({ tenant, memory, id, born, field, model, task, tokens, job, failures }: RowColumns): ClaimedRow {
  const scope = { tenant, memory: memory.slice(tenant.length + 1) };
  return { scope, id, born, field, model, task, tokens, failures, ...(job !== null && { job }) };
}

/** Rows of points, visible at once; states that are not there and fields without a text are left out. */
function rowsOfPoints(
  memory: string,
  points: readonly (PointRef & { readonly task: OutboxTask })[],
  states: readonly StateColumns[],
): readonly NewRow[] {
  const byName = new Map(states.map((state) => [`${state.id} ${state.born}`, stateOf(state)]));
  return points.flatMap(({ id, born, model, field, task }) => {
    const state = byName.get(`${id} ${born}`);
    return state === undefined ? [] : rowsOf(memory, [state], { tracked: [{ model, field }], task });
  });
}

/** Code and message, which a blank separates. */
function errorOf(error: string | null): Pick<Outstanding, "error"> {
  if (error === null) return {};
  const [code = ""] = error.split(" ", 1);
  return { error: { code, message: error.slice(code.length + 1) } };
}
