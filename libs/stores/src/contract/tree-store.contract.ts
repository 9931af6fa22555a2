import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { NODE_FIELD } from "#core";
import type { Stores } from "../stores.js";
import {
  change,
  codeOf,
  comparison,
  embedding,
  grow,
  idsOf,
  index,
  indexWhole,
  MODEL,
  newMemory,
  type OpenEmpty,
  range,
  SCOPE,
  state,
  step,
  TENANT,
} from "./fixtures.js";

/** What every TreeStore does. */
export function describeTreeStore(name: string, open: OpenEmpty): void {
  describe(`${name}: TreeStore`, () => {
    let stores: Stores;
    beforeEach(async () => {
      stores = await open();
    });
    afterEach(() => stores.close());

    describeMemories(() => stores);
    describeCommits(() => stores);
    describeRuns(() => stores);
    describeReads(() => stores);
  });
}

type Opened = () => Stores;

function describeMemories(opened: Opened): void {
  test("a new memory is empty, at revision 0, with what it was given", async () => {
    const { tree } = opened();
    const made = newMemory("mem_1", { labels: { user: "u1" }, templates: { Turn: "{text}" } });
    const memory = await tree.createMemory(TENANT, made);
    expect(memory).toEqual({
      ...made,
      ...{ tenant: TENANT, revision: 0, nodes: 0, tokens: 0, bytes: 0, schemaVersion: 0, updatedAt: 1_000 },
    });
    expect(await tree.getMemory(SCOPE)).toEqual(memory);
    expect((await tree.schema(SCOPE)).types).toEqual([]);
  });

  test("another tenant's memory is as unknown as one that never was, to every method", async () => {
    const { tree, vectors, lexical } = opened();
    await grow(opened(), [state("a0", "A")]);
    const run = { contexts: "root" as const, steps: [step("child")], values: false };
    const read = { revision: 1, model: MODEL, field: NODE_FIELD };
    const filter = { scope: { kind: "descendants" as const, of: [""] } };
    const vector = Float32Array.of(1);
    for (const scope of [
      { tenant: "other", memory: SCOPE.memory },
      { tenant: TENANT, memory: "mem_unknown" },
    ]) {
      const calls = [
        tree.getMemory(scope),
        tree.updateMemory(scope, { name: "mine" }, 1),
        tree.deleteMemory(scope),
        tree.schema(scope),
        tree.commit(scope, change(1)),
        tree.inbox(scope, "job", "step"),
        tree.run(scope, 1, run),
        tree.evidence(scope, 1, { contexts: [], paths: [], values: false }),
        tree.nodes(scope, 1, ["nod_a0"]),
        tree.paths(scope, 1, ["nod_a0"]),
        tree.subtrees(scope, 1, ["nod_a0"], 1),
        tree.children(scope, 1, null, { limit: 1 }),
        tree.lastChild(scope, null),
        tree.findChild(scope, null, { type: "A", name: "name", value: "x" }),
        tree.newestGrandchild(scope, "nod_a0", "A"),
        tree.scan(scope, { limit: 1 }),
        vectors.scores(scope, read, vector, []),
        vectors.topK(scope, read, vector, filter, { limit: 1, exact: true }),
        vectors.missing(scope, read, { filter }, 1),
        vectors.deleteFormer(scope),
        vectors.fingerprint(scope, MODEL),
        lexical.indexed(scope, ""),
        lexical.indexPage(scope, "title"),
        lexical.fields(scope),
        lexical.statistics(scope, { field: "" }, []),
        lexical.scores(scope, read, new Map(), []),
        lexical.matches(scope, read, new Map(), filter, { above: 0 }),
      ];
      expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => "memory_not_found"));
    }
    expect((await tree.getMemory(SCOPE)).name).toBe("name of mem_1");
  });

  test("a patch changes what it names, and null ends a move to another model", async () => {
    const { tree } = opened();
    await tree.createMemory(TENANT, newMemory("mem_1", { labels: { user: "u1" } }));
    const scoring = { scorer: "lexical" as const, a: 0.5, entailmentTemplate: "{}" };
    const patched = await tree.updateMemory(SCOPE, { name: "new", scoring, nextEmbeddingModel: "model-2" }, 5_000);
    expect(patched).toMatchObject({
      name: "new",
      labels: { user: "u1" },
      scoring,
      nextEmbeddingModel: "model-2",
      updatedAt: 5_000,
    });
    const moved = await tree.updateMemory(
      SCOPE,
      { embeddingModel: "model-2", nextEmbeddingModel: null, labels: {} },
      6_000,
    );
    expect(moved).toMatchObject({ embeddingModel: "model-2", labels: {} });
    expect(moved).not.toHaveProperty("nextEmbeddingModel");
    expect(await tree.getMemory(SCOPE)).toEqual(moved);
  });

  test("lists are newest first, by all labels, by name, in pages, of one tenant", async () => {
    const { tree } = opened();
    for (const [id, labels] of [
      ["mem_1", { user: "u1", agent: "a" }],
      ["mem_2", { user: "u2", agent: "a" }],
      ["mem_3", { user: "u1", agent: "b" }],
      ["mem_4", { user: "u1", agent: "a" }],
    ] as const) {
      await tree.createMemory(TENANT, newMemory(id, { labels }));
    }
    await tree.createMemory("other", newMemory("mem_9", { labels: { user: "u1" } }));
    const list = async (
      query: Omit<Parameters<typeof tree.listMemories>[1], "limit">,
      limit = 10,
    ): Promise<readonly string[]> => idsOf(await tree.listMemories(TENANT, { ...query, limit }));
    expect(await list({})).toEqual(["mem_4", "mem_3", "mem_2", "mem_1"]);
    expect(await list({}, 2)).toEqual(["mem_4", "mem_3"]);
    expect(await list({ after: "mem_3" })).toEqual(["mem_2", "mem_1"]);
    expect(await list({ labels: { user: "u1" } })).toEqual(["mem_4", "mem_3", "mem_1"]);
    expect(await list({ labels: { user: "u1", agent: "a" } })).toEqual(["mem_4", "mem_1"]);
    expect(await list({ labels: { user: "u1" }, after: "mem_3" })).toEqual(["mem_1"]);
    expect(await list({ name: "name of mem_2" })).toEqual(["mem_2"]);
    expect(await list({ labels: { user: "u1" }, name: "name of mem_2" })).toEqual([]);
    await tree.updateMemory(SCOPE, { labels: { user: "u2" } }, 1);
    expect(await list({ labels: { user: "u2" } })).toEqual(["mem_2", "mem_1"]);
    await tree.deleteMemory({ tenant: TENANT, memory: "mem_3" });
    expect(await list({ after: "mem_3" })).toEqual(["mem_2", "mem_1"]);
  });

  test("a deletion counts every row, leaves other memories alone, and the id can be used again", async () => {
    const { tree, vectors, blobs } = opened();
    const states = [state("a0", "A"), state("a0.a0", "B", { text: "" })];
    const terms = [
      {
        id: "nod_a0",
        field: "",
        weights: new Map([
          ["text", 1],
          ["a0", 0.5],
        ]),
      },
    ];
    const vector = { id: "nod_a0", field: "", model: MODEL, embedding: embedding(1, 0) };
    await grow(opened(), states, { terms, vectors: [vector] });
    const other = { tenant: TENANT, memory: "mem_2" };
    await tree.createMemory(TENANT, newMemory("mem_2"));
    await tree.commit(other, change(0, { states, terms, vectors: [vector] }));
    await blobs.put(TENANT, "payload", Uint8Array.of(1), { memory: SCOPE.memory, expiresAt: 1 });
    await blobs.put(TENANT, "of another", Uint8Array.of(1), { memory: "mem_2", expiresAt: 1 });
    expect(await tree.deleteMemory(SCOPE)).toEqual({
      nodes: 2,
      vectors: 1,
      terms: 2,
      revisions: 1,
      inbox: 1,
      blobs: 1,
    });
    expect(await codeOf(tree.getMemory(SCOPE))).toBe("memory_not_found");
    expect(await blobs.get(TENANT, "payload")).toBeUndefined();
    expect(await blobs.get(TENANT, "of another")).toEqual(Uint8Array.of(1));
    expect((await tree.getMemory(other)).nodes).toBe(2);
    expect((await vectors.fingerprint(other, MODEL)).count).toBe(1);
    await tree.createMemory(TENANT, newMemory("mem_1"));
    expect(await tree.scan(SCOPE, { limit: 10 })).toEqual([]);
  });
}

function describeCommits(opened: Opened): void {
  test("a commit counts nodes and tokens and gives every state the new revision", async () => {
    const { tree } = opened();
    const memory = await grow(opened(), [state("a0", "A"), state("a0.a0", "B"), state("a0.a1", "B", { tokens: 7 })]);
    expect(memory).toMatchObject({ revision: 1, nodes: 3, tokens: 13, updatedAt: 2_000 });
    expect((await tree.nodes(SCOPE, 1, ["nod_a0.a1"]))[0]).toEqual({ ...state("a0.a1", "B", { tokens: 7 }), born: 1 });
  });

  test("a memory counts the bytes of what its live nodes say, and a tenant has the sums of its memories", async () => {
    const { tree } = opened();
    expect(await tree.totals(TENANT)).toEqual({ memories: 0, nodes: 0, bytes: 0 });
    const says = (name: string) => ({ attributes: { name }, metadata: { from: "mail" } });
    const stateOf = (name: string) => 1 + JSON.stringify({ name }).length + JSON.stringify({ from: "mail" }).length;
    const first = [state("a0", "A", says("one")), state("a0.a0", "B", says("üö"))];
    const { bytes } = await grow(opened(), first);
    // Two letters of two bytes each.
    expect(bytes).toBe(stateOf("one") + stateOf("uo") + 2);
    await tree.createMemory(TENANT, newMemory("mem_2"));
    expect(await tree.totals(TENANT)).toEqual({ memories: 2, nodes: 2, bytes });
    const edit = change(1, { ends: ["nod_a0", "nod_a0.a0"], states: [state("a0", "A", says("longer"))] });
    await tree.commit(SCOPE, edit);
    expect(await tree.getMemory(SCOPE)).toMatchObject({ nodes: 1, bytes: stateOf("longer") });
    expect(await tree.totals("ten_other")).toEqual({ memories: 0, nodes: 0, bytes: 0 });
    await tree.deleteMemory(SCOPE);
    expect(await tree.totals(TENANT)).toEqual({ memories: 1, nodes: 0, bytes: 0 });
  });

  test("another head than the change was made on is a conflict that changes nothing", async () => {
    const { tree } = opened();
    const before = await grow(opened(), [state("a0", "A")]);
    for (const base of [0, 2]) {
      expect(await codeOf(tree.commit(SCOPE, change(base, { states: [state("a1", "A")] })))).toBe("revision_conflict");
    }
    expect(await tree.getMemory(SCOPE)).toEqual(before);
  });

  test("a step that was committed before answers its first result and changes nothing", async () => {
    const { tree } = opened();
    await grow(opened(), []);
    const first = change(1, { states: [state("a0", "A")], result: { roots: ["nod_a0"], nested: [1, null] } });
    expect(await tree.inbox(SCOPE, first.inbox.job, first.inbox.step)).toBeUndefined();
    expect(await tree.commit(SCOPE, first)).toEqual({ revision: 2, repeated: false, result: first.result });
    await tree.commit(SCOPE, change(2, { states: [state("a1", "A")] }));
    const repeat = { ...first, baseRevision: 3, result: { roots: [] } };
    const repeated = { revision: 2, repeated: true, result: first.result };
    expect(await tree.commit(SCOPE, repeat)).toEqual(repeated);
    expect(await tree.inbox(SCOPE, first.inbox.job, first.inbox.step)).toEqual(repeated);
    expect((await tree.getMemory(SCOPE)).revision).toBe(3);
  });

  test("a field that was indexed meanwhile is a conflict", async () => {
    const { tree, lexical } = opened();
    await grow(opened(), [state("a0", "A")]);
    await indexWhole(lexical, SCOPE, "name");
    const states = [state("a1", "A")];
    expect(await codeOf(tree.commit(SCOPE, change(1, { states, termFields: [""] })))).toBe("revision_conflict");
    expect((await tree.commit(SCOPE, change(1, { states, termFields: ["", "name"] }))).revision).toBe(2);
  });

  test("ending a node that does not live, or vectors of a wrong length, change nothing", async () => {
    const { tree } = opened();
    const before = await grow(opened(), [state("a0", "A")], {
      vectors: [{ id: "nod_a0", field: "", model: MODEL, embedding: embedding(1, 0) }],
    });
    expect(await codeOf(tree.commit(SCOPE, change(1, { ends: ["nod_a0", "nod_unknown"] })))).toBe("node_not_found");
    const vectors = [{ id: "nod_a1", field: "", model: MODEL, embedding: embedding(1, 0, 0) }];
    const wrong = change(1, { states: [state("a1", "A")], vectors, ends: ["nod_a0"] });
    expect(await codeOf(tree.commit(SCOPE, wrong))).toBe("model_dimension");
    expect(await tree.getMemory(SCOPE)).toEqual(before);
    expect(idsOf(await tree.scan(SCOPE, { limit: 10 }))).toEqual(["nod_a0"]);
  });

  test("every revision stays readable as it was", async () => {
    const { tree } = opened();
    await grow(opened(), [state("a0", "A"), state("a1", "A")]);
    await tree.commit(SCOPE, change(1, { ends: ["nod_a0"], states: [{ ...state("a0", "A"), text: "changed" }] }));
    await tree.commit(SCOPE, change(2, { ends: ["nod_a1"] }));
    const textsAt = async (revision: number): Promise<readonly string[]> =>
      (await tree.nodes(SCOPE, revision, ["nod_a0", "nod_a1"])).map(({ text }) => text);
    expect(await textsAt(0)).toEqual([]);
    expect(await textsAt(1)).toEqual(["text of a0", "text of a1"]);
    expect(await textsAt(2)).toEqual(["changed", "text of a1"]);
    expect(await textsAt(3)).toEqual(["changed"]);
  });

  test("the schema version moves when something appears or disappears, and not with counts", async () => {
    const { tree } = opened();
    const versionAfter = async (changes: Parameters<typeof change>[1]): Promise<number> => {
      const { revision } = await tree.getMemory(SCOPE);
      await tree.commit(SCOPE, change(revision, changes));
      return (await tree.getMemory(SCOPE)).schemaVersion;
    };
    const { schemaVersion } = await grow(opened(), [state("a0", "A")]);
    expect(await versionAfter({ states: [state("a1", "A")] })).toBe(schemaVersion);
    expect(await versionAfter({ states: [state("a2", "A", { attributes: { name: 5 } })] })).toBe(schemaVersion + 1);
    expect(await versionAfter({ ends: ["nod_a2"] })).toBe(schemaVersion + 2);
    expect(await versionAfter({ ends: ["nod_a1"] })).toBe(schemaVersion + 2);
    const schema = await tree.schema(SCOPE);
    expect(schema).toEqual({
      version: schemaVersion + 2,
      types: [{ type: "A", count: 1, attributes: [{ name: "name", kinds: { string: 1 }, count: 1 }], metadata: [] }],
      relations: [{ parent: "Memory", child: "A", count: 1 }],
    });
  });
}

function describeRuns(opened: Opened): void {
  const tree = [
    state("a0", "A"),
    state("a0.a0", "B", { attributes: { cost: 10 }, metadata: { name: "shadow", tag: "x" } }),
    state("a0.a1", "A"),
    state("a0.a1.a0", "B", { attributes: { cost: "20" } }),
    state("a1", "C"),
    state("a1.a0", "B", { attributes: { cost: 30, when: "2026-05-01T02:00:00+02:00" } }),
  ];
  const find = async (...steps: readonly ReturnType<typeof step>[]): Promise<readonly string[]> => {
    const { rows } = await opened().tree.run(SCOPE, 1, { contexts: "root", steps, values: false });
    return rows.map(({ key }) => key.pathKey);
  };

  test("axes and node tests find what lies there, once, in document order", async () => {
    await grow(opened(), tree);
    expect(await find(step("child"))).toEqual(["a0", "a1"]);
    expect(await find(step("descendant", "B"))).toEqual(["a0.a0", "a0.a1.a0", "a1.a0"]);
    expect(await find(step("descendant", "A"), step("descendant", "B"))).toEqual(["a0.a0", "a0.a1.a0"]);
    expect(await find(step("descendant", "A"), step("child", "B"))).toEqual(["a0.a0", "a0.a1.a0"]);
    expect(await find(step("child", "A"), step("child", "B"))).toEqual(["a0.a0"]);
    expect(await find(step("child", "C"), step("descendant", "A"))).toEqual([]);
  });

  test("a few nodes among very many contexts are found below them, and nowhere else", async () => {
    const many = Array.from({ length: 12 }, (_, at) => state(`a${at < 10 ? "0" : "1"}${at % 10}`, "A"));
    await grow(opened(), [
      ...many,
      state("a03.a0", "A"),
      state("a03.a0.a0", "B"),
      state("a05.a0", "B"),
      state("a2", "C"),
      state("a2.a0", "B", { attributes: { cost: 1 } }),
    ]);
    expect(await find(step("descendant", "A"), step("descendant", "B"))).toEqual(["a03.a0.a0", "a05.a0"]);
    expect(await find(step("descendant", "A"), step("child", "B"))).toEqual(["a03.a0.a0", "a05.a0"]);
    expect(await find(step("child", "A"), step("child", "B"))).toEqual(["a05.a0"]);
    expect(await find(step("child", "A"), step("descendant", "B", index(-1)))).toEqual(["a05.a0"]);
    const named = comparison("name", "=", "A a05");
    expect(await find(step("descendant", "A", undefined, [named]), step("descendant", "B"))).toEqual(["a05.a0"]);
    expect(await find(step("descendant"), step("child", "C"))).toEqual([]);
    expect(await find(step("child"), step("child", "B"))).toEqual(["a05.a0", "a2.a0"]);
  });

  test("positions count in the whole current set, from either end, and ranges clamp", async () => {
    await grow(opened(), tree);
    const third = async (position: ReturnType<typeof index>): Promise<readonly string[]> =>
      find(step("descendant", "B", position));
    expect(await third(index(3))).toEqual(["a1.a0"]);
    expect(await third(index(-3))).toEqual(["a0.a0"]);
    expect(await third(index(4))).toEqual([]);
    expect(await third(index(-4))).toEqual([]);
    expect(await third(range(2, 9))).toEqual(["a0.a1.a0", "a1.a0"]);
    expect(await third(range(-9, -2))).toEqual(["a0.a0", "a0.a1.a0"]);
    expect(await third(range(2, -2))).toEqual(["a0.a1.a0"]);
    expect(await third(range(-2, 2))).toEqual(["a0.a1.a0"]);
    expect(await third(range(3, 2))).toEqual([]);
    expect(await third(range())).toEqual(["a0.a0", "a0.a1.a0", "a1.a0"]);
    expect(await find(step("descendant", "A", index(-1)), step("child", "B"))).toEqual(["a0.a1.a0"]);
  });

  test("comparisons follow positions, read attributes before metadata, and compare as the language does", async () => {
    await grow(opened(), tree);
    const where = (...comparisons: readonly ReturnType<typeof comparison>[]): Promise<readonly string[]> =>
      find(step("descendant", "B", undefined, comparisons));
    expect(await where(comparison("cost", "<", 25))).toEqual(["a0.a0", "a0.a1.a0"]);
    expect(await where(comparison("cost", "!=", 30))).toEqual(["a0.a0", "a0.a1.a0"]);
    expect(await where(comparison("missing", "!=", 1))).toEqual([]);
    expect(await where(comparison("tag", "=", "x"), comparison("cost", "=", 10))).toEqual(["a0.a0"]);
    expect(await where(comparison("when", "=", "2026-05-01"))).toEqual(["a1.a0"]);
    expect(await find(step("descendant", "B", index(1), [comparison("cost", ">", 10)]))).toEqual([]);
  });

  test("a node that several contexts reach keeps the largest weight", async () => {
    const { tree: store } = opened();
    await grow(opened(), tree);
    const contexts = [
      { id: "nod_a0", pathKey: "a0", weight: 0.25 },
      { id: "nod_a0.a1", pathKey: "a0.a1", weight: 0.5 },
      { id: "nod_a1", pathKey: "a1", weight: 0.125 },
    ];
    const { rows } = await store.run(SCOPE, 1, { contexts, steps: [step("descendant", "B")], values: true });
    expect(rows.map(({ key, weight, attributes }) => [key.pathKey, weight, attributes?.["cost"]])).toEqual([
      ["a0.a0", 0.25, 10],
      ["a0.a1.a0", 0.5, "20"],
      ["a1.a0", 0.125, 30],
    ]);
  });

  test("no contexts find nothing, and a limit takes the first rows", async () => {
    const { tree: store } = opened();
    await grow(opened(), tree);
    const steps = [step("descendant", "B")];
    expect((await store.run(SCOPE, 1, { contexts: [], steps, values: false })).rows).toEqual([]);
    const { rows } = await store.run(SCOPE, 1, { contexts: "root", steps, values: false, limit: 1 });
    expect(rows.map(({ key }) => key.pathKey)).toContain("a0.a0");
  });

  test("evidence has a chain per way to a node, grouped by context, with positions inside a context", async () => {
    const { tree: store } = opened();
    await grow(opened(), tree);
    const contexts = [
      { id: "nod_a1", pathKey: "a1" },
      { id: "nod_a0", pathKey: "a0" },
    ];
    const paths = [
      { steps: [step("descendant", "B", index(1))], keep: [true] },
      { steps: [step("child", "A"), step("child", "B")], keep: [true, true] },
    ];
    const { rows } = await store.evidence(SCOPE, 1, { contexts, paths, values: false });
    expect(rows.map(({ context, path, chain }) => [context, path, chain.map(({ key }) => key.pathKey)])).toEqual([
      [0, 0, ["a1.a0"]],
      [1, 0, ["a0.a0"]],
      [1, 1, ["a0.a1", "a0.a1.a0"]],
    ]);
  });

  describe("evidence below a node with nested descendants", () => {
    const DEPTH = 40;
    const deep = Array.from({ length: DEPTH }, (_, level) =>
      state(Array.from({ length: level + 1 }, () => "a0").join("."), "A"),
    );
    const contexts = [{ id: "nod_a0", pathKey: "a0" }];
    const nested = (kept: boolean, position?: ReturnType<typeof range>) => [
      { steps: Array.from({ length: 9 }, () => step("descendant", undefined, position)), keep: Array(9).fill(kept) },
    ];

    test("steps that are not kept do not multiply", async () => {
      const { tree: store } = opened();
      await grow(opened(), deep);
      const { rows } = await store.evidence(SCOPE, 1, { contexts, paths: nested(false), values: false });
      expect(rows).toHaveLength(DEPTH - 9);
    });

    test.each([
      ["", undefined],
      [" with positions", range(1, undefined)],
    ])("chains of kept steps%s that are too many are refused, not counted out", async (_, position) => {
      const { tree: store } = opened();
      await grow(opened(), deep);
      const request = { contexts, paths: nested(true, position), values: false };
      expect(await codeOf(store.evidence(SCOPE, 1, request))).toBe("too_much_evidence");
    });
  });
}

function describeReads(opened: Opened): void {
  const family = [
    state("a0", "A"),
    state("a0.a0", "B"),
    state("a0.a1", "C"),
    state("a0.a2", "B"),
    state("a1", "A"),
    state("a1.a0", "B"),
  ];

  test("nodes come in the order of their ids, without those that are unknown", async () => {
    await grow(opened(), family);
    expect(idsOf(await opened().tree.nodes(SCOPE, 1, ["nod_a1", "nod_none", "nod_a0"]))).toEqual(["nod_a1", "nod_a0"]);
  });

  test("paths count among siblings of the same type", async () => {
    await grow(opened(), family);
    const paths = await opened().tree.paths(SCOPE, 1, ["nod_a0.a2", "nod_a0.a1", "nod_a1.a0", "nod_none"]);
    expect(Object.fromEntries(paths)).toEqual({
      "nod_a0.a2": "/A[1]/B[2]",
      "nod_a0.a1": "/A[1]/C[1]",
      "nod_a1.a0": "/A[2]/B[1]",
    });
  });

  test("subtrees begin with their root and say what a limit cut", async () => {
    await grow(opened(), family);
    const { tree } = opened();
    const whole = await tree.subtrees(SCOPE, 1, ["nod_a1", "nod_a0"], 6);
    expect(whole.truncated).toEqual([]);
    expect([...whole.nodes].map(([id, nodes]) => [id, idsOf(nodes)])).toEqual([
      ["nod_a1", ["nod_a1", "nod_a1.a0"]],
      ["nod_a0", ["nod_a0", "nod_a0.a0", "nod_a0.a1", "nod_a0.a2"]],
    ]);
    const cut = await tree.subtrees(SCOPE, 1, ["nod_a0", "nod_a1"], 3);
    expect(cut.truncated).toEqual(["nod_a0", "nod_a1"]);
    expect(idsOf(cut.nodes.get("nod_a0") ?? [])).toEqual(["nod_a0", "nod_a0.a0", "nod_a0.a1"]);
    expect(cut.nodes.get("nod_a1")).toEqual([]);
  });

  test("children come in pages with their own numbers of children", async () => {
    await grow(opened(), family);
    const { tree } = opened();
    const roots = await tree.children(SCOPE, 1, null, { limit: 5 });
    expect(roots.nodes.map(({ id, children }) => [id, children])).toEqual([
      ["nod_a0", 3],
      ["nod_a1", 1],
    ]);
    expect(roots).not.toHaveProperty("next");
    const first = await tree.children(SCOPE, 1, "nod_a0", { limit: 2 });
    expect(idsOf(first.nodes)).toEqual(["nod_a0.a0", "nod_a0.a1"]);
    const second = await tree.children(SCOPE, 1, "nod_a0", { limit: 2, after: first.next! });
    expect(idsOf(second.nodes)).toEqual(["nod_a0.a2"]);
    expect(second).not.toHaveProperty("next");
  });

  test("the last child comes with the number of children, also after changes", async () => {
    await grow(opened(), family);
    const { tree } = opened();
    expect(await tree.lastChild(SCOPE, "nod_a0")).toMatchObject({ count: 3, last: { id: "nod_a0.a2" } });
    expect(await tree.lastChild(SCOPE, "nod_a0.a0")).toEqual({ count: 0 });
    await tree.commit(
      SCOPE,
      change(1, { ends: ["nod_a0", "nod_a0.a2"], states: [{ ...state("a0", "A"), text: "new" }] }),
    );
    expect(await tree.lastChild(SCOPE, "nod_a0")).toMatchObject({ count: 2, last: { id: "nod_a0.a1" } });
    expect(await tree.lastChild(SCOPE, null)).toMatchObject({ count: 2, last: { id: "nod_a1" } });
  });

  test("a child is found by type and attribute, the last one first", async () => {
    const { tree } = opened();
    await grow(opened(), [
      state("a0", "S", { attributes: { date: "d1" } }),
      state("a1", "S", { attributes: { date: "d1" } }),
      state("a2", "T", { attributes: { date: "d1" } }),
      state("a3", "S", { attributes: {}, metadata: { date: "d1" } }),
    ]);
    expect((await tree.findChild(SCOPE, null, { type: "S", name: "date", value: "d1" }))?.id).toBe("nod_a1");
    expect(await tree.findChild(SCOPE, null, { type: "S", name: "date", value: "d2" })).toBeUndefined();
    expect(await tree.findChild(SCOPE, "nod_none", { type: "S", name: "date", value: "d1" })).toBeUndefined();
  });

  test("the newest grandchild is the one stored last, wherever it stands, while it lives", async () => {
    const { tree } = opened();
    await grow(opened(), [
      ...[state("a0", "C"), state("a0.a0", "S"), state("a0.a1", "S"), state("a0.a2", "T"), state("a1", "C")],
      ...[state("a0.a1.a0", "T"), state("a0.a0.a0", "T"), state("a0.a1.a1", "U")],
    ]);
    const newest = async (): Promise<string | undefined> => (await tree.newestGrandchild(SCOPE, "nod_a0", "T"))?.id;
    expect(await newest()).toBe("nod_a0.a0.a0");
    await tree.commit(SCOPE, change(1, { states: [state("a0.a1.a2", "T"), state("a0.a0.a1", "T")] }));
    expect(await newest()).toBe("nod_a0.a0.a1");
    await tree.commit(SCOPE, change(2, { ends: ["nod_a0.a0.a1"] }));
    expect(await newest()).toBe("nod_a0.a1.a2");
    expect(await tree.newestGrandchild(SCOPE, "nod_a1", "T")).toBeUndefined();
    expect(await tree.newestGrandchild(SCOPE, "nod_none", "T")).toBeUndefined();
  });

  test("a scan walks all live nodes in pages", async () => {
    await grow(opened(), family);
    const { tree } = opened();
    expect(idsOf(await tree.scan(SCOPE, { limit: 4 }))).toEqual(["nod_a0", "nod_a0.a0", "nod_a0.a1", "nod_a0.a2"]);
    expect(idsOf(await tree.scan(SCOPE, { limit: 4, after: "a0.a2" }))).toEqual(["nod_a1", "nod_a1.a0"]);
  });
}
