import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { LIMITS, type MemoryScope, NODE_FIELD } from "#core";
import type { NewState, ClaimedRow, StoredPoint } from "#memory";
import { describeWithNeo4j } from "../../../../test/support/neo4j.js";
import { change, MODEL, newMemory, state } from "../contract/fixtures.js";
import { describeOutbox, type TreeApart } from "../contract/outbox.contract.js";
import { Database } from "./database.js";
import { memoryKey } from "./memory-key.js";
import { migrate } from "./migrate.js";
import { NEVER } from "./node-rows.js";
import { Neo4jOutbox } from "./outbox.js";
import { OUTBOX_ROWS, rowsOf } from "./outbox-rows.js";
import { Neo4jPointLedger } from "./point-ledger.js";
import { Neo4jTreeStore } from "./tree-store.js";

const RELAYS = 8;
/** The server plans every statement once, and shares its processors with the tests. */
const PATIENCE_MS = 120_000;
const LEASE = { rows: 20, tokens: 1_000, leaseMs: 60_000 };

await describeWithNeo4j("Neo4j", (uri) => {
  describeOutbox("Neo4j", () => open(uri));

  describe("Neo4j: the outbox among many", () => {
    jest.setTimeout(PATIENCE_MS);
    let database: Database;
    let apart: TreeApart;
    beforeAll(async () => {
      apart = await open(uri);
      database = new Database({ url: uri });
    });
    afterAll(async () => {
      await database.close();
      await apart.close();
    });

    test("eight relays that claim from four tenants lose no row and get none twice", async () => {
      const { outbox, ledger } = apart;
      const scopes = await Promise.all([1, 2, 3, 4].map(() => newScope(apart, states(120))));
      const claimed: string[] = [];
      const relay = async (number: number): Promise<void> => {
        for (let round = 0; ; round += 1) {
          const open = (await outbox.backlog(LIMITS.pageItems)).filter(({ tenant }) =>
            scopes.some((scope) => scope.tenant === tenant),
          );
          const next = open[(number + round) % open.length];
          if (next === undefined) return;
          const rows = await outbox.claim(next.tenant, { ...LEASE, id: randomUUID() });
          claimed.push(...rows.map(nameOf));
          const [first] = rows;
          if (first !== undefined) await ledger.settle(first.scope, MODEL, rows.map(pointOf));
        }
      };
      await Promise.all(Array.from({ length: RELAYS }, (_, number) => relay(number)));
      expect(claimed).toHaveLength(480);
      expect(new Set(claimed).size).toBe(480);
      const left = await Promise.all(scopes.map((scope) => outbox.expectation(scope, MODEL)));
      expect(left.map(({ pending, fingerprint }) => [pending, fingerprint.count])).toEqual(scopes.map(() => [0, 120]));
    });

    test("claims that were left to die are taken by others, each row by one", async () => {
      const { outbox } = apart;
      const { tenant } = await newScope(apart, states(60));
      const dead = await outbox.claim(tenant, { ...LEASE, id: randomUUID(), rows: 60, leaseMs: 500 });
      expect(dead).toHaveLength(60);
      const taken: string[] = [];
      const relay = async (): Promise<void> => {
        while (taken.length < 60)
          taken.push(...(await outbox.claim(tenant, { ...LEASE, id: randomUUID() })).map(nameOf));
      };
      await Promise.all(Array.from({ length: RELAYS }, relay));
      expect([...taken].sort()).toEqual(dead.map(nameOf).sort());
    });

    test("a worker whose clock is an hour wrong takes no row of a claim that lasts, and forgets no step", async () => {
      const { outbox, tree } = apart;
      const scope = await newScope(apart, states(4));
      const { tenant } = scope;
      const claims = ["right", "early", "late"].map((name) => `${name}-${tenant}`);
      expect(await outbox.claim(tenant, { ...LEASE, id: claims[0] ?? "", rows: 2 })).toHaveLength(2);
      const skewed = jest.spyOn(Date, "now");
      try {
        for (const [at, hours] of [1, -1].entries()) {
          skewed.mockReturnValue(new Date().getTime() + hours * 3_600_000);
          const own = claims[at + 1] ?? "";
          expect(await outbox.claim(tenant, { ...LEASE, id: own, rows: 1 })).toHaveLength(1);
          expect(await outbox.claimed(own, LEASE.leaseMs)).toHaveLength(1);
        }
      } finally {
        skewed.mockRestore();
      }
      expect(await outbox.claim(tenant, { ...LEASE, id: "none" })).toEqual([]);
      expect(
        (await Promise.all(claims.map((id) => outbox.claimed(id, LEASE.leaseMs)))).map((rows) => rows.length),
      ).toEqual([2, 1, 1]);
      const { revision } = await tree.getMemory(scope);
      const first = change(revision, { time: 0 });
      await tree.commit(scope, first);
      await tree.commit(scope, change(revision + 1, { time: Date.now() + 365 * 86_400_000 }));
      expect(await tree.commit(scope, first)).toMatchObject({ repeated: true, revision: revision + 1 });
    });

    test("whatever commits while a field is tracked has its row", async () => {
      const { outbox } = apart;
      const scope = await newScope(apart, states(1_500));
      const large = { ...scope, memory: "mem_2" };
      for (const one of [scope, large]) {
        await apart.tree.updateMemory(one, { nextEmbeddingModel: "model-2" }, 1);
      }
      const late = [0, 1, 2, 3, 4, 5].map((number) => states(20, `b${number}`));
      const commits = async (): Promise<void> => {
        for (const some of late) await commit(apart, scope, some);
      };
      await Promise.all([
        commits(),
        outbox.track(scope, "model-2", "name"),
        outbox.track(scope, "model-2", "name"),
        // Several transactions, some of which may come before the tracker and some after it.
        commit(apart, large, states(4_500)),
        outbox.track(large, "model-2", "name"),
      ]);
      expect((await outbox.expectation(scope, "model-2")).pending).toBe(1_620);
      expect((await outbox.expectation(large, "model-2")).pending).toBe(4_500);
    });

    test("rows of a revision that is not committed are not seen by anyone", async () => {
      const { outbox, ledger } = apart;
      const scope = await newScope(apart, []);
      const [fresh] = states(1);
      if (fresh === undefined) throw new Error("There is a state.");
      const tracked = [{ model: MODEL, field: NODE_FIELD }];
      const rows = rowsOf(memoryKey(scope), [{ ...fresh, born: 2 }], {
        ...{ tracked, task: "vector" },
        waits: { job: "job_unseen", model: MODEL },
      });
      await database.write((transaction) =>
        transaction.run(OUTBOX_ROWS.create, { tenant: scope.tenant, memory: memoryKey(scope), rows }),
      );
      const jobs = [{ tenant: scope.tenant, job: "job_unseen" }];
      expect(await outbox.claim(scope.tenant, { ...LEASE, id: randomUUID() })).toEqual([]);
      expect((await outbox.backlog(LIMITS.pageItems)).some(({ tenant }) => tenant === scope.tenant)).toBe(false);
      expect((await outbox.outstanding(jobs)).size).toBe(0);
      expect((await outbox.unfinished(jobs)).size).toBe(0);
      expect((await outbox.expectation(scope, MODEL)).pending).toBe(0);
      const read = { model: MODEL, field: NODE_FIELD, revision: 2 };
      expect(await ledger.pending(scope, read, { limit: 10 })).toEqual({ points: [] });
      await commit(apart, scope, []);
      expect((await outbox.outstanding(jobs)).get("job_unseen")?.rows).toBe(1);
      expect(await outbox.claim(scope.tenant, { ...LEASE, id: randomUUID() })).toHaveLength(1);
    });

    test("an end that is not committed leaves a row that waits for it", async () => {
      const { outbox, ledger } = apart;
      const scope = await newScope(apart, states(1));
      const end = async (died: number): Promise<void> => {
        await database.write((transaction) =>
          transaction.run("MATCH (n:Node {memory: $memory, id: 'nod_a0', born: 1}) SET n.died = toInteger($died)", {
            ...{ memory: memoryKey(scope), died },
          }),
        );
      };
      await end(2);
      const told = { id: "nod_a0", born: 1, field: NODE_FIELD };
      expect(await ledger.sources(scope, [told])).toEqual([expect.not.objectContaining({ died: 2 })]);
      await ledger.settle(scope, MODEL, [told]);
      expect(await outbox.claim(scope.tenant, { ...LEASE, id: randomUUID() })).toEqual([]);
      expect((await outbox.expectation(scope, MODEL)).fingerprint.count).toBe(1);
      await end(NEVER);
      await commit(apart, scope, []);
      const [row] = await outbox.claim(scope.tenant, { ...LEASE, id: randomUUID() });
      expect(row).toMatchObject({ ...told, task: "payload" });
    });

    test("a flood of one tenant hides nobody from the backlog", async () => {
      const { outbox } = apart;
      const flood = await newScope(apart, []);
      const others = [await newScope(apart, []), await newScope(apart, [])];
      await plant(database, flood, LIMITS.relayTenantRows + 10);
      for (const scope of others) await plant(database, scope, 5);
      const all = await outbox.backlog(LIMITS.pageItems);
      expect(all.find(({ tenant }) => tenant === flood.tenant)?.rows).toBe(LIMITS.relayTenantRows);
      expect(
        all.filter(({ tenant }) => others.some((scope) => scope.tenant === tenant)).map(({ rows }) => rows),
      ).toEqual([5, 5]);
      expect(all.findIndex(({ tenant }) => tenant === flood.tenant)).toBeLessThan(
        all.findIndex(({ tenant }) => tenant === others[0]?.tenant),
      );
      const few = await outbox.backlog(LIMITS.pageItems, 3);
      const own = few.filter(({ tenant }) => [flood, ...others].some((scope) => scope.tenant === tenant));
      expect(own.map(({ rows }) => rows)).toEqual([3, 3, 3]);
    });

    test("tenants that one look has no room for are in the next ones", async () => {
      const { outbox } = apart;
      const scopes = await Promise.all(Array.from({ length: 5 }, () => newScope(apart, states(1))));
      const known = new Set((await outbox.backlog(LIMITS.pageItems)).map(({ tenant }) => tenant));
      expect(scopes.every(({ tenant }) => known.has(tenant))).toBe(true);
      const seen = new Set<string>();
      while (![...known].every((tenant) => seen.has(tenant))) {
        const found = await outbox.backlog(2);
        expect(found.length).toBeLessThanOrEqual(2);
        for (const { tenant } of found) seen.add(tenant);
      }
    });

    test("rows that are claimed do not hide those behind them", async () => {
      const { outbox } = apart;
      const { tenant } = await newScope(apart, states(5));
      await outbox.claim(tenant, { ...LEASE, id: randomUUID(), rows: 4 });
      const backlog = await outbox.backlog(LIMITS.pageItems, 2);
      expect(backlog.find((one) => one.tenant === tenant)).toEqual({ tenant, rows: 1 });
    });

    test("all rows of a tenant that were given up are freed at once, also without a memory's name", async () => {
      const { outbox } = apart;
      const { tenant } = await newScope(apart, states(3));
      const id = randomUUID();
      const rows = await outbox.claim(tenant, { ...LEASE, id });
      await outbox.fail(id, rows, { code: "model_refused", message: "no", afterMs: 0, final: true });
      expect(await outbox.claim(tenant, { ...LEASE, id: randomUUID() })).toEqual([]);
      expect(await outbox.retry()).toBe(3);
      expect(await outbox.claim(tenant, { ...LEASE, id: randomUUID() })).toEqual(rows);
    });
  });
});

async function open(url: string): Promise<TreeApart> {
  const database = new Database({ url });
  await migrate(database);
  return {
    tree: new Neo4jTreeStore(database),
    outbox: new Neo4jOutbox(database),
    ledger: new Neo4jPointLedger(database),
    close: () => database.close(),
  };
}

const states = (count: number, prefix = "a"): readonly NewState[] =>
  Array.from({ length: count }, (_, number) => state(`${prefix}${number}`, "Topic"));

async function newScope(apart: TreeApart, first: readonly NewState[]): Promise<MemoryScope> {
  const scope = { tenant: `ten_${randomUUID()}`, memory: "mem_1" };
  await apart.tree.createMemory(scope.tenant, newMemory(scope.memory));
  await apart.tree.createMemory(scope.tenant, newMemory("mem_2"));
  await commit(apart, scope, first);
  return scope;
}

async function commit({ tree }: TreeApart, scope: MemoryScope, added: readonly NewState[]): Promise<void> {
  const { revision } = await tree.getMemory(scope);
  await tree.commit(scope, change(revision, { states: added }));
}

/** Rows without states, as many as are needed. */
async function plant(database: Database, { tenant, memory }: MemoryScope, count: number): Promise<void> {
  await database.write((transaction) =>
    transaction.run(
      `UNWIND range(1, toInteger($count)) AS number
CREATE (:Outbox {key: $memory + number, tenant: $tenant, waiting: $tenant, memory: $memory, id: toString(number), born: 1,
  field: '', model: $model, task: 'vector', tokens: 1, revision: 1, seq: timestamp(), due: 0, failures: 0})`,
      { count, tenant, memory: memoryKey({ tenant, memory }), model: MODEL },
    ),
  );
}

const nameOf = ({ scope, id }: ClaimedRow): string => `${scope.tenant} ${id}`;

const pointOf = ({ id, born, field }: ClaimedRow): StoredPoint => ({ id, born, field });
