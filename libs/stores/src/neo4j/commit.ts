/**
 * A change set. Every transaction of it first takes the lock of the memory's node, so that those of one memory follow each
 * other, and may be run twice by the driver.
 *
 * 1. The inbox: a step that was committed before answers its first result and changes nothing.
 * 2. The head must be the revision that the change was computed against, and its terms must cover every counted field.
 * 3. The change set gets a number that no other ever had; states are born with it. What has a larger number than the head is
 *    seen by no reader.
 * 4. Up to `BATCH_STATES` states that begin, and as many that end: everything in one transaction. More: first what begins, then
 *    what ends, with their outbox rows, in transactions of that size, each with a `(:Staged)` that names them. An end has the
 *    change set's number too, so that no reader of the head sees it.
 * 5. The last transaction moves the counters (one number of each term and each parent that the change set reaches), writes
 *    revision and inbox, and makes the number the head.
 * 6. The edges of states that a large change set ended go after that: until then they could have to come back.
 *
 * If a writer dies between, its `(:Staged)` tell the next writer of the memory, or its maintenance, what to take back; while
 * they are young, by the server's clock, it waits. A writer that was taken for dead finds its `(:Staged)` gone and stops.
 */
import { setImmediate } from "node:timers/promises";
import { EspalierError, type MemoryScope, RETENTION_SECONDS } from "#core";
import type { ChangeSet, CommitResult } from "#memory";
import {
  countChange,
  countTerms,
  type FoundStates,
  type LiveState,
  sumTerms,
  type TermCounts,
} from "./change-counts.js";
import { COMMIT, STAGED } from "./commit-statements.js";
import type { Database, Transaction } from "./database.js";
import { ENDED_BATCH, purgeEnded, unlinkEnded } from "./ended-states.js";
import { findStates } from "./find-states.js";
import { memoryKey, memoryNotFound } from "./memory-key.js";
import { NEVER, propertiesOf } from "./node-rows.js";
import { type NewRow, OUTBOX_ROWS, rowsOf, type TrackedField } from "./outbox-rows.js";
import { StagedWait, sweepStaged } from "./staged-states.js";
import { LOCK_TENANT, lockOf } from "./tenant-lock.js";

/** States of one transaction: about half a second, and some MB of the server's heap. */
const BATCH_STATES = 2_000;
/** Rows of one statement: some MB on their way. */
const STATEMENT_ROWS = 5_000;
/** Inbox rows that a commit forgets at most: far more than it writes. */
const FORGOTTEN_ROWS = 1_000;

interface Head {
  readonly revision: number;
  readonly allocated: number;
  readonly model: string;
  readonly stagedMs: number | null;
}

/** What a change set needs to know of its memory before it writes. */
interface Plan {
  readonly revision: number;
  readonly model: string;
  readonly fields: readonly string[];
  readonly found: FoundStates;
  readonly counts: ReturnType<typeof countChange>;
  /** Terms of the states of each batch: texts are cut into terms once. */
  readonly terms: Map<number, TermCounts>;
  /** The first batch that has a term, by field and term. */
  readonly firstBatches: Map<string, number>;
  /** Rows of the batch that is next, or was last. */
  readonly rows: Map<number, StateRows>;
}

/** What `createStates` and `linkStates` take. */
interface StateRows {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly links: readonly { readonly id: string; readonly parent: string; readonly born: number }[];
}

/** How the first transaction of an attempt ended. */
type Begun =
  | { readonly kind: "done"; readonly result: CommitResult }
  | { readonly kind: "staged"; readonly plan: Plan }
  | { readonly kind: "waiting"; readonly stagedMs: number };

/** The answer of a step that was committed before. @throws EspalierError `memory_not_found` */
export async function findInInbox(
  transaction: Transaction,
  scope: MemoryScope,
  step: ChangeSet["inbox"],
): Promise<CommitResult | undefined> {
  const [row] = await transaction.run<{ readonly revision: number | null; readonly result: string | null }>(
    COMMIT.inbox,
    { memory: memoryKey(scope), ...step },
  );
  if (row === undefined) throw memoryNotFound(scope);
  if (row.revision === null || row.result === null) return undefined;
  return { revision: row.revision, repeated: true, result: JSON.parse(row.result) as unknown };
}

/** @throws EspalierError `memory_not_found`, `revision_conflict`, `node_not_found` */
export async function commitChange(
  database: Database,
  scope: MemoryScope,
  change: ChangeSet,
  batchStates = BATCH_STATES,
): Promise<CommitResult> {
  const memory = memoryKey(scope);
  await purgeEnded(database, memory);
  const commit = new Commit(scope, change, batchStates);
  const wait = new StagedWait();
  for (;;) {
    const begun = await database.write((transaction) => commit.begin(transaction));
    if (begun.kind === "done") return begun.result;
    if (begun.kind === "staged") return stage(database, commit, begun.plan);
    if (await wait.isDead(begun.stagedMs)) await sweepStaged(database, scope.tenant, memory);
  }
}

async function stage(database: Database, commit: Commit, plan: Plan): Promise<CommitResult> {
  for (let batch = 1; batch <= commit.batches; batch += 1) {
    await database.write((transaction) => commit.writeBatch(transaction, plan, batch));
  }
  const result = await database.write((transaction) => commit.end(transaction, plan));
  await unlinkEnded(database, memoryKey(commit.scope), [...plan.found.ended.values()]);
  return result;
}

class Commit {
  readonly #memory: string;
  readonly #ends: readonly string[];
  /** The number of this call's own commit: if the driver runs that again, the inbox row it finds is its own. */
  #revision: number | undefined;

  constructor(
    readonly scope: MemoryScope,
    private readonly change: ChangeSet,
    private readonly batchStates: number,
  ) {
    this.#memory = memoryKey(scope);
    this.#ends = [...new Set(change.ends)];
  }

  /** Transactions of a large change set before its last. */
  get batches(): number {
    return this.#beginning + Math.ceil(this.#ends.length / this.batchStates);
  }

  /** Those of them that write states. */
  get #beginning(): number {
    return Math.ceil(this.change.states.length / this.batchStates);
  }

  get #isLarge(): boolean {
    return Math.max(this.change.states.length, this.#ends.length) > this.batchStates;
  }

  /** The whole commit if it is small, else its plan and its number. */
  async begin(transaction: Transaction): Promise<Begun> {
    const head = await this.#lock(transaction);
    const before = await this.#findOwn(transaction);
    if (before !== undefined) return { kind: "done", result: before };
    this.#checkBase(head.revision);
    if (head.stagedMs !== null) return { kind: "waiting", stagedMs: head.stagedMs };
    const plan = await this.#plan(transaction, head);
    if (this.#isLarge) {
      await transaction.run(COMMIT.allocate, { memory: this.#memory, revision: plan.revision });
      await transaction.run(STAGED.begin, { memory: this.#memory, revision: plan.revision });
      return { kind: "staged", plan };
    }
    const ended = [...plan.found.ended.values()];
    await this.#writeStates(transaction, plan, 1);
    await this.#endStates(transaction, plan, ended);
    await this.#inParts(transaction, COMMIT.unlink, "states", refsOf(ended));
    return { kind: "done", result: await this.#finish(transaction, plan) };
  }

  /** Writes one batch of a large change set; nothing if it is there already. */
  async writeBatch(transaction: Transaction, plan: Plan, batch: number): Promise<void> {
    const written = await this.#ownBatches(transaction, plan);
    if (written.has(batch)) return;
    const ended = this.#endedOf(plan, batch);
    await Promise.all([this.#writeStates(transaction, plan, batch), this.#meanwhile(transaction, plan, batch)]);
    await this.#endStates(transaction, plan, ended);
    const named = { memory: this.#memory, revision: plan.revision, batch };
    const [ids, ends] = [this.#statesOf(batch), ended].map((states) => states.map(({ id }) => id));
    await transaction.run(STAGED.add, { ...named, ids, ends });
  }

  /** The last transaction of a large change set. */
  async end(transaction: Transaction, plan: Plan): Promise<CommitResult> {
    const head = await this.#lock(transaction);
    const before = await this.#findOwn(transaction);
    if (before !== undefined) return before;
    await this.#ownBatches(transaction, plan);
    this.#checkBase(head.revision);
    this.#checkTermFields(await this.#termFields(transaction));
    const result = await this.#finish(transaction, plan);
    await transaction.run(STAGED.end, { memory: this.#memory, revision: plan.revision });
    return result;
  }

  async #lock(transaction: Transaction): Promise<Head> {
    const [head] = await transaction.run<Head>(COMMIT.lock, { memory: this.#memory });
    if (head === undefined) throw memoryNotFound(this.scope);
    return head;
  }

  async #findOwn(transaction: Transaction): Promise<CommitResult | undefined> {
    const before = await findInInbox(transaction, this.scope, this.change.inbox);
    return before && { ...before, repeated: before.revision !== this.#revision };
  }

  #checkBase(revision: number): void {
    const { baseRevision } = this.change;
    if (baseRevision === revision) return;
    throw new EspalierError(
      "revision_conflict",
      `The change was made on revision ${baseRevision}, the memory is at ${revision}.`,
      { details: { baseRevision, revision } },
    );
  }

  async #termFields(transaction: Transaction): Promise<readonly string[]> {
    const rows = await transaction.run<{ readonly field: string }>(COMMIT.termFields, { memory: this.#memory });
    return ["", ...rows.map(({ field }) => field)];
  }

  #checkTermFields(fields: readonly string[]): void {
    const { termFields } = this.change;
    const field = fields.find((one) => termFields?.includes(one) === false);
    if (field === undefined) return;
    throw new EspalierError("revision_conflict", `The field ${field} was indexed after the change was made.`, {
      details: { field },
    });
  }

  /** Whether the change set is still this writer's, and its batches so far. @throws EspalierError `revision_conflict` */
  async #ownBatches(transaction: Transaction, { revision }: Plan): Promise<ReadonlySet<number>> {
    const rows = await transaction.run<{ readonly batch: number }>(STAGED.batches, { memory: this.#memory, revision });
    const batches = new Set(rows.map(({ batch }) => batch));
    if (batches.has(0)) return batches;
    throw new EspalierError("revision_conflict", "Another writer of the memory took over; plan the change again.", {
      details: { baseRevision: this.change.baseRevision },
    });
  }

  async #plan(transaction: Transaction, head: Head): Promise<Plan> {
    const fields = await this.#termFields(transaction);
    this.#checkTermFields(fields);
    const found = await findStates(transaction, this.#memory, { ...this.change, ends: this.#ends });
    const revision = head.allocated + 1;
    this.#revision = revision;
    return {
      revision,
      model: head.model,
      fields,
      found,
      counts: countChange(this.change, found),
      terms: new Map(),
      firstBatches: new Map(),
      rows: new Map(),
    };
  }

  #termsOf({ fields, terms }: Plan, batch: number): TermCounts {
    const counted = terms.get(batch) ?? countTerms(fields, this.#statesOf(batch), []);
    terms.set(batch, counted);
    return counted;
  }

  /** Makes those that no batch before has; a batch that is written again makes the same. */
  async #prepareTerms(transaction: Transaction, plan: Plan, batch: number): Promise<void> {
    const { firstBatches } = plan;
    const terms = this.#termsOf(plan, batch).terms.filter(({ field, term }) => {
      const name = `${field}\n${term}`;
      if (!firstBatches.has(name)) firstBatches.set(name, batch);
      return firstBatches.get(name) === batch;
    });
    await this.#inParts(transaction, STAGED.prepareTerms, "terms", terms);
  }

  #statesOf(batch: number): ChangeSet["states"] {
    return this.change.states.slice((batch - 1) * this.batchStates, batch * this.batchStates);
  }

  /** Ends come after all states: children that stay get their edges to them. */
  #endedOf({ found }: Plan, batch: number): readonly LiveState[] {
    const last = (batch - this.#beginning) * this.batchStates;
    return last <= 0 ? [] : [...found.ended.values()].slice(last - this.batchStates, last);
  }

  /** States with their edges and outbox rows. Statements that need nothing of one another do not wait for answers. */
  async #writeStates(transaction: Transaction, plan: Plan, batch: number): Promise<void> {
    const states = this.#statesOf(batch);
    if (states.length === 0) return;
    const { revision, model } = plan;
    const memory = this.#memory;
    const { rows, links } = this.#rowsOf(plan, batch);
    const writeRows = async (): Promise<void> => {
      const tracked = await this.#tracked(transaction);
      const born = states.map((state) => ({ ...state, born: revision }));
      const waits = { job: this.change.inbox.job, model };
      await this.#writeRows(transaction, OUTBOX_ROWS.create, rowsOf(memory, born, { tracked, task: "vector", waits }));
    };
    await Promise.all([
      writeRows(),
      transaction.run(COMMIT.createStates, { rows }),
      transaction.run(COMMIT.linkStates, { memory, revision, links }),
    ]);
  }

  /** What there is to do while the server writes a batch of states, which is on its way to it by then. */
  async #meanwhile(transaction: Transaction, plan: Plan, batch: number): Promise<void> {
    await setImmediate();
    const makeNext = async (): Promise<void> => {
      await setImmediate();
      this.#rowsOf(plan, batch + 1);
    };
    await Promise.all([this.#prepareTerms(transaction, plan, batch), makeNext()]);
  }

  /** Those of the batch that was asked for last are kept. */
  #rowsOf(plan: Plan, batch: number): StateRows {
    const made = plan.rows.get(batch) ?? this.#makeRows(plan, batch);
    plan.rows.clear();
    plan.rows.set(batch, made);
    return made;
  }

  #makeRows({ revision, found, counts }: Plan, batch: number): StateRows {
    const states = this.#statesOf(batch);
    const first = (batch - 1) * this.batchStates;
    return {
      rows: states.map((state, index) => {
        const children = (found.ended.get(state.id)?.children ?? 0) + (counts.children.get(state.id) ?? 0);
        return propertiesOf(this.#memory, state, { revision, ordinal: first + index, children });
      }),
      links: states.flatMap(({ id, parentId }) =>
        parentId === null ? [] : [{ id, parent: parentId, born: found.parents.get(parentId)?.born ?? revision }],
      ),
    };
  }

  #tracked(transaction: Transaction): Promise<readonly TrackedField[]> {
    return transaction.run<TrackedField>(OUTBOX_ROWS.tracked, { memory: this.#memory });
  }

  async #writeRows(transaction: Transaction, statement: string, rows: readonly NewRow[]): Promise<void> {
    await this.#inParts(transaction, statement, "rows", rows, { tenant: this.scope.tenant });
  }

  /** What makes the revision visible, in the order in which it must be done. */
  async #finish(transaction: Transaction, plan: Plan): Promise<CommitResult> {
    await this.#keepEnded(transaction, plan);
    await this.#countChildren(transaction, plan);
    const schemaChanged = await this.#countSchema(transaction, plan);
    const begun = Array.from({ length: this.#beginning }, (_, index) => this.#termsOf(plan, index + 1));
    const { fields, terms } = sumTerms([...begun, countTerms(plan.fields, [], [...plan.found.ended.values()])]);
    await this.#inParts(transaction, COMMIT.countDocuments, "fields", fields);
    await this.#inParts(transaction, COMMIT.countTerms, "terms", terms);
    const { inbox, author, message, time } = this.change;
    const result = JSON.stringify(this.change.result ?? null);
    await transaction.run(COMMIT.forgetInbox, {
      ...{ memory: this.#memory, keepMs: RETENTION_SECONDS.inbox * 1_000, limit: FORGOTTEN_ROWS },
    });
    await transaction.run(COMMIT.finish, {
      ...{ memory: this.#memory, revision: plan.revision, nodes: plan.counts.nodes, tokens: plan.counts.tokens },
      bytes: plan.counts.bytes,
      ...{ children: plan.counts.children.get(null) ?? 0, schemaChanges: schemaChanged ? 1 : 0 },
      ...{ ends: this.#ends.length > 0, author, message, time, ...inbox, result },
    });
    return { revision: plan.revision, repeated: false, result: JSON.parse(result) as unknown };
  }

  /** Ends of states with their outbox rows. */
  async #endStates(transaction: Transaction, { revision }: Plan, states: readonly LiveState[]): Promise<void> {
    if (states.length === 0) return;
    const named = { revision, never: NEVER };
    await this.#inParts(transaction, COMMIT.endStates, "states", refsOf(states), named);
    await this.#inParts(transaction, COMMIT.relink, "states", refsOf(states), named);
    // Whether a row of the state still waits must stay as it is found until the end.
    await transaction.run(LOCK_TENANT, { lock: lockOf(this.scope.tenant) });
    const tracked = await this.#tracked(transaction);
    const rows = rowsOf(this.#memory, states, { tracked, task: "payload", revision });
    await this.#writeRows(transaction, OUTBOX_ROWS.write, rows);
  }

  /** From now on counts how long readers may still need the ended states in the indexes of the head. */
  async #keepEnded(transaction: Transaction, { revision }: Plan): Promise<void> {
    for (let start = 0; start < this.#ends.length; start += ENDED_BATCH) {
      const ids = this.#ends.slice(start, start + ENDED_BATCH);
      await transaction.run(COMMIT.keepEnded, { memory: this.#memory, revision, batch: start / ENDED_BATCH, ids });
    }
  }

  /** Of parents that stay; new states were written with their numbers. */
  async #countChildren(transaction: Transaction, { found, counts }: Plan): Promise<void> {
    const parents = [...counts.children].flatMap(([id, count]) => {
      const parent = id === null ? undefined : found.parents.get(id);
      return parent === undefined ? [] : [{ id: parent.id, born: parent.born, count }];
    });
    await this.#inParts(transaction, COMMIT.countChildren, "parents", parents);
  }

  /** Whether anything appeared or disappeared. */
  async #countSchema(transaction: Transaction, { counts }: Plan): Promise<boolean> {
    const entries = [...counts.schema].map(([entry, count]) => ({ entry, count }));
    const edges = await transaction.run<{ readonly entry: string; readonly count: number }>(COMMIT.countSchema, {
      ...{ memory: this.#memory, entries },
    });
    const gone = edges.filter(({ count }) => count === 0).map(({ entry }) => entry);
    await this.#inParts(transaction, COMMIT.removeSchema, "entries", gone);
    return edges.length > 0;
  }

  /** Runs a statement over rows, some thousand at a time; not at all where there are none. */
  async #inParts(
    transaction: Transaction,
    statement: string,
    parameter: string,
    rows: readonly unknown[],
    named: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    for (let start = 0; start < rows.length; start += STATEMENT_ROWS) {
      const part = { [parameter]: rows.slice(start, start + STATEMENT_ROWS) };
      await transaction.run(statement, { memory: this.#memory, ...named, ...part });
    }
  }
}

const refsOf = (states: readonly LiveState[]): readonly { readonly id: string; readonly born: number }[] =>
  states.map(({ id, born }) => ({ id, born }));
