import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { LIMITS, type MemoryScope, NODE_FIELD } from "#core";
import type { ChangeSet, NewState, Outbox, OutboxRow, StoredPoint, TreeStore } from "#memory";
import type { PointLedger } from "../distributed/point-ledger.js";
import { fingerprintOf } from "../point-fingerprint.js";
import { change, codeOf, indexWhole, MODEL, newMemory, state } from "./fixtures.js";

/** A tree store whose commits write outbox rows, and the two sides of its outbox. */
export interface TreeApart {
  readonly tree: TreeStore;
  readonly outbox: Outbox;
  readonly ledger: PointLedger;
  close(): Promise<void>;
}

const LEASE = { id: "claim-1", rows: 100, tokens: 10_000, leaseMs: 60_000 };
/** A lease that a test can wait for. */
const SHORT_MS = 250;
const OTHER_MODEL = "model-2";
const READ = { model: MODEL, field: NODE_FIELD, revision: 1 };

/** What every Outbox and PointLedger does. The stores may hold memories of others: each test has a tenant of its own. */
export function describeOutbox(name: string, open: () => Promise<TreeApart>): void {
  describe(`${name}: Outbox`, () => {
    let apart: TreeApart;
    let scope: MemoryScope;
    beforeAll(async () => {
      apart = await open();
    });
    afterAll(() => apart.close());
    beforeEach(async () => {
      scope = await newScope(apart);
    });

    test("a commit writes a row for every text that begins, and its job waits for them", async () => {
      const empty = state("a2", "Topic", { text: "", tokens: 0 });
      const committed = await grow(apart, scope, [state("a0", "Topic"), state("a1", "Topic"), empty]);
      const rows = await claimRows(apart, scope.tenant);
      expect(rows.map(({ id }) => id).sort()).toEqual(["nod_a0", "nod_a1"]);
      expect(rows.find(({ id }) => id === "nod_a0")).toEqual({
        scope,
        id: "nod_a0",
        born: 1,
        field: NODE_FIELD,
        model: MODEL,
        task: "vector",
        text: "text of a0",
        tokens: 3,
        job: committed.inbox.job,
        failures: 0,
      });
      const { job } = committed.inbox;
      const { tenant } = scope;
      const jobs = [
        { tenant, job },
        { tenant, job: "job_of_nobody" },
        { tenant: "another", job },
      ];
      expect([...(await apart.outbox.outstanding(jobs))]).toEqual([[job, { rows: 2, failed: 0 }]]);
      expect([...(await apart.outbox.unfinished(jobs))]).toEqual([job]);
      expect([...(await apart.outbox.unfinished(jobs.slice(1)))]).toEqual([]);
    });

    test("a claim is bounded by rows and by tokens, oldest first, and shares no row with another", async () => {
      await grow(apart, scope, [state("a0", "Topic", { tokens: 5 })]);
      await commit(apart, scope, [state("a1", "Topic", { tokens: 5 })]);
      await commit(apart, scope, [state("a2", "Topic", { tokens: 5 })]);
      await commit(apart, scope, [state("a3", "Topic", { tokens: 5 })]);
      const byTokens = await apart.outbox.claim(scope.tenant, { ...LEASE, tokens: 6 });
      expect(byTokens.map(({ id }) => id)).toEqual(["nod_a0", "nod_a1"]);
      const byRows = await apart.outbox.claim(scope.tenant, { ...LEASE, id: "claim-2", rows: 1 });
      expect(byRows.map(({ id }) => id)).toEqual(["nod_a2"]);
      expect(await backlogOf(apart, scope)).toBe(1);
      expect(await apart.outbox.claim("another tenant", LEASE)).toEqual([]);
    });

    test("rows of one commit are claimed by the length of their texts, so that those of a claim are alike", async () => {
      const tokens = [70, 3, 9_000, 41, 12, 5_000, 7];
      await grow(
        apart,
        scope,
        tokens.map((count, at) => state(`a${at}`, "Topic", { tokens: count })),
      );
      const claims: number[][] = [];
      for (const id of ["claim-1", "claim-2", "claim-3"]) {
        const rows = await apart.outbox.claim(scope.tenant, { ...LEASE, id: `${id}-${scope.tenant}`, rows: 2 });
        claims.push(rows.map((row) => row.tokens));
      }
      expect(claims).toEqual([
        [3, 7],
        [12, 41],
        [70, expect.any(Number)],
      ]);
    });

    test("a claim is free again when its lease ends, or when it is released", async () => {
      await grow(apart, scope, [state("a0", "Topic"), state("a1", "Topic")]);
      const { tenant } = scope;
      const first = `first-${tenant}`;
      expect(await apart.outbox.claim(tenant, { ...LEASE, id: "long", rows: 1 })).toHaveLength(1);
      const lost = await apart.outbox.claim(tenant, { ...LEASE, id: first, leaseMs: SHORT_MS });
      expect(lost).toHaveLength(1);
      const taken = await eventually(() => apart.outbox.claim(tenant, { ...LEASE, id: `third-${tenant}` }));
      expect(taken).toEqual(lost);
      expect(await apart.outbox.claimed(first, 60_000)).toEqual([]);
      expect(await apart.outbox.claimed(`third-${tenant}`, 60_000)).toEqual([{ ...taken[0], text: "text of a1" }]);
      await apart.outbox.release(`third-${tenant}`, SHORT_MS);
      expect(await apart.outbox.claimed(`third-${tenant}`, 60_000)).toEqual([]);
      expect(await eventually(() => apart.outbox.claim(tenant, LEASE))).toEqual(taken);
    });

    test("failures are counted; a row that was given up waits for retry and is told until then", async () => {
      const { inbox } = await grow(apart, scope, [state("a0", "Topic"), state("a1", "Topic")]);
      const { tenant } = scope;
      const claim = { ...LEASE, id: `failing-${tenant}` };
      const [one, two] = await apart.outbox.claim(tenant, claim);
      if (one === undefined || two === undefined) throw new Error("Both rows are free.");
      const failure = { code: "model_bad_output", message: "NaN", afterMs: 0 };
      await apart.outbox.fail(claim.id, [one], { ...failure, final: false });
      await apart.outbox.fail(claim.id, [two], { ...failure, final: true });
      expect(await apart.outbox.claim(tenant, { ...claim, id: `again-${tenant}` })).toEqual([{ ...one, failures: 1 }]);
      const waiting = await apart.outbox.outstanding([{ tenant, job: inbox.job }]);
      expect(waiting.get(inbox.job)).toEqual({
        rows: 2,
        failed: 1,
        error: { code: "model_bad_output", message: "NaN" },
      });
      expect([...(await apart.outbox.unfinished([{ tenant, job: inbox.job }]))]).toEqual([inbox.job]);
      expect(await apart.outbox.expectation(scope, MODEL)).toMatchObject({ pending: 2, failed: 1 });
      await apart.outbox.fail("not its claim", [one], { ...failure, final: true });
      expect(await apart.outbox.retry({ ...scope, memory: "mem_other" })).toBe(0);
      expect(await apart.outbox.retry(scope)).toBe(1);
      expect(await apart.outbox.claim(tenant, { ...claim, id: "third" })).toEqual([two]);
    });

    test("points that are stored settle their rows; a claim tells what is left", async () => {
      await grow(apart, scope, [state("a0", "Topic"), state("a1", "Topic")]);
      const claim = { ...LEASE, id: `settling-${scope.tenant}` };
      await apart.outbox.claim(scope.tenant, claim);
      expect(await apart.ledger.settle(scope, MODEL, [point("nod_a0")])).toBe("settled");
      const left = await apart.outbox.claimed(claim.id, 60_000);
      expect(left.map(({ id }) => id)).toEqual(["nod_a1"]);
      expect(await apart.outbox.expectation(scope, MODEL)).toEqual({
        fingerprint: fingerprintOf([point("nod_a0")]),
        pending: 1,
        failed: 0,
      });
    });

    test("a state that ends leaves its row for a vector, or a row for its payload if the point is there", async () => {
      await grow(apart, scope, [state("a0", "Topic"), state("a1", "Topic")]);
      await apart.ledger.settle(scope, MODEL, [point("nod_a0")]);
      await commit(apart, scope, [], ["nod_a0", "nod_a1"]);
      const rows = await claimRows(apart, scope.tenant);
      expect(rows.map(taskOf).sort()).toEqual(["nod_a0 payload ", "nod_a1 vector text of a1"]);
      const ended = [{ ...point("nod_a0"), died: 2 }];
      expect(await apart.ledger.standing(scope, { field: NODE_FIELD }, 10)).toEqual({
        nodes: 0,
        model: MODEL,
        waits: true,
        ended,
      });
      await apart.ledger.settle(scope, MODEL, [
        { ...point("nod_a0"), died: 2 },
        { ...point("nod_a1"), died: 2 },
      ]);
      const standing = { model: MODEL, nodes: 0, waits: false, ended: [] };
      expect(await apart.ledger.standing(scope, { model: MODEL, field: NODE_FIELD }, 10)).toEqual(standing);
      expect((await apart.ledger.standing(scope, { field: "title" }, 10)).waits).toBe(true);
      expect(await apart.outbox.expectation(scope, MODEL)).toEqual({
        fingerprint: fingerprintOf([
          { ...point("nod_a0"), died: 2 },
          { ...point("nod_a1"), died: 2 },
        ]),
        pending: 0,
        failed: 0,
      });
    });

    test("a point that was stored as live while its state ended leaves a row for its payload", async () => {
      await grow(apart, scope, [state("a0", "Topic")]);
      await commit(apart, scope, [], ["nod_a0"]);
      expect(await apart.ledger.settle(scope, MODEL, [point("nod_a0")])).toBe("settled");
      expect((await claimRows(apart, scope.tenant)).map(taskOf)).toEqual(["nod_a0 payload "]);
    });

    test("a field that is tracked has rows for the states that are there and for those that come", async () => {
      const titled = (key: string): NewState => state(key, "Topic", { attributes: { title: `title of ${key}` } });
      await grow(apart, scope, [titled("a0"), state("a1", "Topic"), titled("a2")]);
      await commit(apart, scope, [], ["nod_a2"]);
      expect(await apart.outbox.tracked(scope, MODEL)).toEqual([NODE_FIELD]);
      await apart.tree.updateMemory(scope, { nextEmbeddingModel: OTHER_MODEL }, 1);
      await apart.outbox.track(scope, OTHER_MODEL, "title");
      await apart.outbox.track(scope, OTHER_MODEL, "title");
      expect(await apart.outbox.tracked(scope, OTHER_MODEL)).toEqual(["title"]);
      await commit(apart, scope, [titled("a3")]);
      const rows = await claimRows(apart, scope.tenant);
      const titles = rows.filter(({ field }) => field === "title");
      expect(titles.map(taskOf).sort()).toEqual(["a0", "a2", "a3"].map((key) => `nod_${key} vector title of ${key}`));
      expect(titles.every(({ model, job, tokens }) => model === OTHER_MODEL && job === undefined && tokens > 0)).toBe(
        true,
      );
      await apart.ledger.untrack(scope);
      expect(await apart.outbox.tracked(scope, OTHER_MODEL)).toEqual(["title"]);
      await apart.tree.updateMemory(scope, { nextEmbeddingModel: null }, 2);
      await apart.ledger.untrack(scope);
      expect(await apart.outbox.tracked(scope, OTHER_MODEL)).toEqual([]);
      expect((await apart.outbox.expectation(scope, OTHER_MODEL)).pending).toBe(0);
      expect((await apart.outbox.expectation(scope, MODEL)).pending).toBe(4);
    });

    test("points that were found missing or stale are enqueued once", async () => {
      await grow(apart, scope, [state("a0", "Topic"), state("a1", "Topic")]);
      await apart.ledger.settle(scope, MODEL, [point("nod_a0"), point("nod_a1")]);
      const missing = { id: "nod_a0", born: 1, field: NODE_FIELD, model: MODEL, task: "vector" } as const;
      const stale = { ...missing, id: "nod_a1", task: "payload" } as const;
      const foreign = { ...missing, id: "nod_none" };
      expect(await apart.outbox.enqueue(scope, [missing, stale, foreign])).toBe(2);
      expect(await apart.outbox.enqueue(scope, [missing, stale])).toBe(0);
      expect(await apart.outbox.enqueue(scope, [{ ...missing, task: "payload" }])).toBe(0);
      expect(await apart.outbox.enqueue(scope, [{ ...stale, task: "vector" }])).toBe(1);
      const rows = await claimRows(apart, scope.tenant);
      expect(rows.map(taskOf).sort()).toEqual(["nod_a0 vector text of a0", "nod_a1 vector text of a1"]);
    });

    test("what should be stored is told in pages and as a fingerprint", async () => {
      const keys = ["a0", "a1", "a2", "a3", "a4"];
      await grow(
        apart,
        scope,
        keys.map((key) => state(key, "Topic")),
      );
      await commit(apart, scope, [], ["nod_a1"]);
      const stored = ["a0", "a1", "a2", "a4"].map((key) => ({
        ...point(`nod_${key}`),
        ...(key === "a1" && { died: 2 }),
      }));
      await apart.ledger.settle(scope, MODEL, stored);
      const pages: (readonly StoredPoint[])[] = [];
      let after: string | undefined;
      do {
        const page = await apart.outbox.expected(scope, MODEL, { limit: 2, ...(after !== undefined && { after }) });
        pages.push(page.points);
        after = page.next;
      } while (after !== undefined);
      expect(pages.flat()).toEqual(stored);
      expect(pages.every(({ length }) => length <= 2)).toBe(true);
      expect(await apart.outbox.expectation(scope, MODEL)).toEqual({
        fingerprint: fingerprintOf(stored),
        pending: 1,
        failed: 0,
      });
    });

    test("rows go with their memory, which leaves a tombstone until it is buried", async () => {
      await grow(apart, scope, [state("a0", "Topic")]);
      await apart.tree.deleteMemory(scope);
      expect(await apart.outbox.claim(scope.tenant, LEASE)).toEqual([]);
      expect(await backlogOf(apart, scope)).toBe(0);
      expect(await apart.ledger.settle(scope, MODEL, [point("nod_a0")])).toBe("gone");
      expect(await apart.outbox.tombstones(LIMITS.pageItems, 0)).toContainEqual(scope);
      expect(await apart.outbox.tombstones(LIMITS.pageItems, 60_000)).not.toContainEqual(scope);
      await apart.outbox.bury(scope);
      await apart.outbox.bury(scope);
      expect(await apart.outbox.tombstones(LIMITS.pageItems, 0)).not.toContainEqual(scope);
    });

    test("a model that the memory has left is not tracked again, and nothing is settled under it", async () => {
      const { outbox, ledger, tree } = apart;
      await grow(apart, scope, [state("a0", "Topic")]);
      await tree.updateMemory(scope, { embeddingModel: OTHER_MODEL }, 1);
      expect(await codeOf(ledger.pending(scope, READ, { limit: 10 }))).toBe("revision_conflict");
      expect(await ledger.settle(scope, MODEL, [point("nod_a0")])).toBe("left");
      expect(await outbox.former(scope)).toEqual([MODEL]);
      await ledger.untrack(scope);
      expect(await outbox.former(scope)).toEqual([]);
      expect(await codeOf(outbox.track(scope, MODEL, "title"))).toBe("revision_conflict");
      expect(await codeOf(ledger.pending(scope, READ, { limit: 10 }))).toBe("revision_conflict");
      expect(await outbox.tracked(scope, MODEL)).toEqual([]);
      expect((await outbox.expectation(scope, MODEL)).pending).toBe(0);
      expect((await ledger.pending(scope, { ...READ, model: OTHER_MODEL }, { limit: 10 })).points).toHaveLength(1);
    });

    test("the point of each field that was settled last is a witness, until it has a row again", async () => {
      const { outbox, ledger } = apart;
      const titled = (key: string): NewState => state(key, "Topic", { attributes: { title: `title of ${key}` } });
      await grow(apart, scope, [titled("a0"), titled("a1")]);
      await outbox.track(scope, MODEL, "title");
      expect(await ledger.witnesses(scope)).toEqual({ model: MODEL, points: [] });
      const title = { ...point("nod_a0"), field: "title" };
      await ledger.settle(scope, MODEL, [point("nod_a0"), title, point("nod_a1")]);
      const fields = async (): Promise<unknown> =>
        new Map((await ledger.witnesses(scope)).points.map((witness) => [witness.field, witness]));
      expect(await fields()).toEqual(
        new Map([
          ["", point("nod_a1")],
          ["title", title],
        ]),
      );
      await commit(apart, scope, [], ["nod_a1"]);
      expect(await fields()).toEqual(new Map([["title", title]]));
      await ledger.settle(scope, MODEL, [{ ...point("nod_a1"), died: 2 }]);
      expect(await fields()).toEqual(
        new Map([
          ["", { ...point("nod_a1"), died: 2 }],
          ["title", title],
        ]),
      );
      await outbox.enqueue(scope, [{ ...title, model: MODEL, task: "vector" }]);
      expect(await fields()).toEqual(new Map([["", { ...point("nod_a1"), died: 2 }]]));
    });

    test("memories are told in pages with the models they are tracked under", async () => {
      await apart.tree.updateMemory(scope, { nextEmbeddingModel: OTHER_MODEL }, 1);
      await apart.outbox.track(scope, OTHER_MODEL, "title");
      const second = { ...scope, memory: "mem_2" };
      await apart.tree.createMemory(scope.tenant, newMemory(second.memory));
      const found: { readonly scope: MemoryScope; readonly models: readonly string[] }[] = [];
      let after: string | undefined;
      do {
        const page = await apart.outbox.memories({ limit: 1, ...(after !== undefined && { after }) });
        expect(page.memories.length).toBeLessThanOrEqual(1);
        found.push(...page.memories);
        after = page.next;
      } while (after !== undefined);
      const own = found.filter((memory) => memory.scope.tenant === scope.tenant);
      expect(own.map((memory) => [memory.scope, [...memory.models].sort()])).toEqual([
        [scope, [MODEL, OTHER_MODEL]],
        [second, [MODEL]],
      ]);
    });

    test("another tenant's memory does not exist", async () => {
      const foreign = { ...scope, tenant: "another" };
      const calls = [
        apart.outbox.track(foreign, MODEL, "title"),
        apart.outbox.tracked(foreign, MODEL),
        apart.outbox.former(foreign),
        apart.outbox.enqueue(foreign, []),
        apart.outbox.expectation(foreign, MODEL),
        apart.outbox.expected(foreign, MODEL, { limit: 1 }),
        apart.ledger.memory(foreign),
        apart.ledger.sources(foreign, []),
        apart.ledger.pending(foreign, READ, { limit: 1 }),
        apart.ledger.standing(foreign, READ, 1),
        apart.ledger.witnesses(foreign),
        apart.ledger.isIndexed(foreign, NODE_FIELD),
        apart.ledger.indexPage(foreign, "title"),
        apart.ledger.indexedFields(foreign),
        apart.ledger.statistics(foreign, NODE_FIELD, ["text"]),
      ];
      expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => "memory_not_found"));
    });

    describePointLedger(() => ({ apart, scope }));
  });
}

function describePointLedger(of: () => { readonly apart: TreeApart; readonly scope: MemoryScope }): void {
  test("sources say what points are made of, and leave out what has no text", async () => {
    const { apart, scope } = of();
    await grow(apart, scope, [
      state("a0", "Topic", { attributes: { title: "one", tags: ["x", "y"], none: "" } }),
      state("a0.a0", "Leaf", { text: "", tokens: 0 }),
    ]);
    await commit(apart, scope, [], ["nod_a0.a0"]);
    const named = (id: string, field: string): StoredPoint => ({ id, born: 1, field });
    const sources = await apart.ledger.sources(scope, [
      named("nod_a0", "title"),
      named("nod_a0", "tags"),
      named("nod_a0", "none"),
      named("nod_a0", "absent"),
      named("nod_a0.a0", NODE_FIELD),
      named("nod_a0.a0", "name"),
      named("nod_none", NODE_FIELD),
    ]);
    const key = { id: "nod_a0", born: 1, type: "Topic", parentId: null, pathKey: "a0", depth: 1 };
    const leaf = { id: "nod_a0.a0", born: 1, type: "Leaf", parentId: "nod_a0", pathKey: "a0.a0", depth: 2 };
    expect(new Set(sources)).toEqual(
      new Set([
        { ...key, field: "title", text: "one" },
        { ...key, field: "tags", text: "x, y" },
        { ...leaf, field: "name", text: "Leaf a0.a0", died: 2 },
      ]),
    );
    expect(await apart.ledger.memory(scope)).toEqual({ model: MODEL, revision: 2 });
  });

  test("pending points are those live at the revision and in the filter, in document order", async () => {
    const { apart, scope } = of();
    await grow(apart, scope, [
      state("a0", "Topic"),
      state("a0.a0", "Leaf"),
      state("a0.a1", "Leaf"),
      state("a1", "Leaf"),
    ]);
    await commit(apart, scope, [state("a2", "Leaf")], ["nod_a0.a1"]);
    await apart.ledger.settle(scope, MODEL, [point("nod_a0.a0")]);
    const ids = async (revision: number, options: Parameters<PointLedger["pending"]>[2]): Promise<readonly string[]> =>
      (await apart.ledger.pending(scope, { ...READ, revision }, options)).points.map(({ pathKey }) => pathKey);
    expect(await ids(2, { limit: 10 })).toEqual(["a0", "a1", "a2"]);
    expect(await ids(1, { limit: 10 })).toEqual(["a0", "a0.a1", "a1"]);
    expect(await ids(1, { limit: 2 })).toEqual(["a0", "a0.a1"]);
    expect(await ids(1, { limit: 2, after: "a0.a0" })).toEqual(["a0.a1", "a1"]);
    const under = { type: "Leaf", scope: { kind: "descendants", of: ["a0"] } } as const;
    const children = { type: "Leaf", scope: { kind: "children", of: ["nod_a0", null] } } as const;
    expect(await ids(1, { limit: 10, filter: under })).toEqual(["a0.a1"]);
    expect(await ids(2, { limit: 10, filter: children })).toEqual(["a1", "a2"]);
    expect(await ids(2, { limit: 10, filter: children, after: "a1" })).toEqual(["a2"]);
    expect(await ids(1, { limit: 10, filter: under, after: "a1" })).toEqual([]);
    await commit(apart, scope, [], ["nod_a0.a0"]);
    expect(await ids(3, { limit: 10, filter: under })).toEqual([]);
  });

  test("pages of pending points are in document order and end", async () => {
    const { apart, scope } = of();
    const keys = ["a0", "a0.a0", "a0.a1", "a1", "a2"];
    await grow(
      apart,
      scope,
      keys.map((key) => state(key, "Leaf")),
    );
    const found: string[] = [];
    let after: string | undefined;
    do {
      const page = await apart.ledger.pending(scope, READ, { limit: 2, ...(after !== undefined && { after }) });
      expect(page.points.length).toBeLessThanOrEqual(2);
      found.push(...page.points.map(({ pathKey }) => pathKey));
      after = page.next;
    } while (after !== undefined);
    expect(found).toEqual(keys);
    expect(await apart.ledger.pending(scope, READ, { limit: 10 })).not.toHaveProperty("next");
  });

  test("which of some states wait for their vectors is told by name", async () => {
    const { apart, scope } = of();
    await grow(apart, scope, [state("a0", "Leaf"), state("a1", "Leaf"), state("a2", "Leaf")]);
    await apart.ledger.settle(scope, MODEL, [point("nod_a1")]);
    const among = async (): Promise<readonly string[]> => {
      const named = ["nod_a0", "nod_a1", "nod_none"].map((id) => ({ id, born: 1 }));
      return (await apart.ledger.pendingAmong(scope, READ, named)).map(({ id, text }) => `${id} ${text}`);
    };
    expect(await among()).toEqual(["nod_a0 text of a0"]);
    await commit(apart, scope, [], ["nod_a1"]);
    // What is left of it is its payload.
    expect(await among()).toEqual(["nod_a0 text of a0"]);
  });

  test("a field that was not tracked is tracked by the first read of what is pending", async () => {
    const { apart, scope } = of();
    await grow(apart, scope, [state("a0", "Topic"), state("a1", "Topic", { attributes: {} })]);
    const read = { model: MODEL, field: "name", revision: 1 };
    const { points, next } = await apart.ledger.pending(scope, read, { limit: 10 });
    expect(next).toBeUndefined();
    expect(points).toEqual([expect.objectContaining({ id: "nod_a0", field: "name", text: "Topic a0" })]);
    expect(await apart.outbox.tracked(scope, MODEL)).toEqual([NODE_FIELD, "name"]);
  });

  test("a field's terms are counted from when it is indexed", async () => {
    const { apart, scope } = of();
    const titled = (key: string, title: string): NewState => state(key, "Topic", { attributes: { title } });
    await grow(apart, scope, [titled("a0", "red house"), titled("a1", "red river"), titled("a2", "blue")]);
    expect(await apart.ledger.isIndexed(scope, "title")).toBe(false);
    await indexWhole(apart.ledger, scope, "title");
    expect(await indexWhole(apart.ledger, scope, "title")).toBe(1);
    expect(await apart.ledger.isIndexed(scope, "title")).toBe(true);
    expect(await apart.ledger.indexedFields(scope)).toEqual([NODE_FIELD, "title"]);
    expect(await apart.outbox.tracked(scope, MODEL)).toEqual([NODE_FIELD, "title"]);
    expect(await apart.ledger.statistics(scope, "title", ["red", "blue", "none"])).toEqual({
      documents: 3,
      frequencies: new Map([
        ["red", 2],
        ["blue", 1],
      ]),
      revision: 1,
    });
    expect(await apart.ledger.statistics(scope, "other", ["red"])).toEqual({
      documents: 0,
      frequencies: new Map(),
      revision: 1,
    });
    await commit(apart, scope, [titled("a3", "blue red")], ["nod_a0"]);
    expect(await apart.ledger.statistics(scope, "title", ["red", "blue"])).toEqual({
      documents: 3,
      frequencies: new Map(Object.entries({ red: 2, blue: 2 })),
      revision: 2,
    });
  });

  test("the terms of nodes' texts are counted by commits", async () => {
    const { apart, scope } = of();
    await grow(apart, scope, [
      state("a0", "Topic", { text: "red house" }),
      state("a1", "Topic", { text: "a red red river" }),
      state("a2", "Topic", { text: "", tokens: 0 }),
    ]);
    expect(await apart.ledger.statistics(scope, NODE_FIELD, ["red", "river", "river"])).toEqual({
      documents: 2,
      frequencies: new Map(Object.entries({ red: 2, river: 1 })),
      revision: 1,
    });
    await commit(apart, scope, [], ["nod_a1"]);
    expect(await apart.ledger.statistics(scope, NODE_FIELD, ["red", "river"])).toEqual({
      documents: 1,
      frequencies: new Map([["red", 1]]),
      revision: 2,
    });
  });
}

const point = (id: string): StoredPoint => ({ id, born: 1, field: NODE_FIELD });

const taskOf = ({ id, task, text }: OutboxRow): string => `${id} ${task} ${text}`;

async function newScope({ tree }: TreeApart): Promise<MemoryScope> {
  const scope = { tenant: `ten_${randomUUID()}`, memory: "mem_1" };
  await tree.createMemory(scope.tenant, newMemory(scope.memory));
  return scope;
}

const grow = (apart: TreeApart, scope: MemoryScope, states: readonly NewState[]): Promise<ChangeSet> =>
  commit(apart, scope, states);

async function commit(
  { tree }: TreeApart,
  scope: MemoryScope,
  states: readonly NewState[],
  ends: readonly string[] = [],
): Promise<ChangeSet> {
  const { revision } = await tree.getMemory(scope);
  const made = change(revision, { states, ends });
  await tree.commit(scope, made);
  return made;
}

/** Claims the free rows of a tenant, and tells what they say. */
async function claimRows({ outbox }: TreeApart, tenant: string): Promise<readonly OutboxRow[]> {
  const claim = { ...LEASE, id: `all-${tenant}` };
  const { length } = await outbox.claim(tenant, claim);
  const rows = await outbox.claimed(claim.id, claim.leaseMs);
  expect(rows).toHaveLength(length);
  return rows;
}

/** Rows of a tenant that are free. */
async function backlogOf({ outbox }: TreeApart, { tenant }: MemoryScope): Promise<number> {
  const backlog = await outbox.backlog(LIMITS.pageItems);
  return backlog.find((one) => one.tenant === tenant)?.rows ?? 0;
}

/** Asks until there is something; the test's own time-out ends it. */
async function eventually<T>(ask: () => Promise<readonly T[]>): Promise<readonly T[]> {
  for (;;) {
    const found = await ask();
    if (found.length > 0) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
