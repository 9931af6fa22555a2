import { afterEach, expect, test } from "@jest/globals";
import { QdrantClient } from "@qdrant/js-client-rest";
import { describeWithQdrant } from "../../../../test/support/qdrant.js";
import { LIMITS, type MemoryScope, type NodeFilter } from "#core";
import { change, embedding, grow, MODEL, SCOPE, state, unit } from "../contract/fixtures.js";
import { fingerprintOf } from "../point-fingerprint.js";
import type { QdrantSettings } from "./connection.js";
import { type QdrantOverInMemory, qdrantOverInMemory } from "./testing/qdrant-over-in-memory.js";

const EVERYTHING: NodeFilter = { scope: { kind: "descendants", of: [""] } };
const READ = { revision: 1, model: MODEL, field: "" };
const BEST = { limit: 10, exact: true };
const paths = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `a${at}`).sort();

await describeWithQdrant("Points in Qdrant", ({ url, real }) => {
  const opened: QdrantOverInMemory[] = [];
  afterEach(async () => {
    for (const stores of opened.splice(0)) {
      await stores.drop();
      await stores.close();
    }
  });

  const open = (settings: Omit<QdrantSettings, "url"> = {}): QdrantOverInMemory => {
    const stores = qdrantOverInMemory({ url, ...settings });
    opened.push(stores);
    return stores;
  };
  /** Nodes that all have the same vector and the same text. */
  const alike = async (stores: QdrantOverInMemory, count: number, scope: MemoryScope = SCOPE): Promise<void> => {
    const states = paths(count).map((path) => state(path, "A", { text: "red" }));
    const vectors = states.map(({ id }) => ({ id, field: "", model: MODEL, embedding: embedding(1, 1) }));
    await grow(stores, states, { vectors }, scope);
  };

  test("a cut through equal values is in document order, and never longer than asked for", async () => {
    const stores = open();
    await alike(stores, 60);
    const { rows } = await stores.vectors.topK(SCOPE, READ, unit(1, 0), EVERYTHING, { limit: 5, exact: true });
    expect(rows.map(({ key }) => key.pathKey)).toEqual(paths(60).slice(0, 5));
    const terms = new Map([["red", 0.5]]);
    const found = await stores.lexical.matches(SCOPE, READ, terms, EVERYTHING, { above: 0, limit: 7 });
    expect(found.map(({ key }) => key.pathKey)).toEqual(paths(60).slice(0, 7));
  });

  test("a memory with more points than a request names is removed whole, and counted", async () => {
    const stores = open();
    await alike(stores, LIMITS.storePoints + 100);
    const { vectors } = await stores.tree.deleteMemory(SCOPE);
    expect(vectors).toBe(LIMITS.storePoints + 100);
  });

  test("a search over many candidates may be approximate and says so, unless it must be exact", async () => {
    const stores = open({ exactBelow: 20 });
    await alike(stores, 30);
    const approximate = async (filter: NodeFilter, exact: boolean): Promise<boolean> =>
      (await stores.vectors.topK(SCOPE, READ, unit(1, 0), filter, { limit: 3, exact })).approximate;
    expect(await approximate(EVERYTHING, false)).toBe(true);
    expect(await approximate(EVERYTHING, true)).toBe(false);
    expect(await approximate({ ...EVERYTHING, type: "B" }, false)).toBe(false);
  });

  test("with bytes beside the vectors these lie on disk, what is approximate is scored by them, and what is exact stays it", async () => {
    const stores = open({ quantization: "int8", exactBelow: 20 });
    const angles = paths(40).map((path, at) => ({ path, vector: unit(Math.cos(at / 40), Math.sin(at / 40)) }));
    const states = angles.map(({ path }) => state(path, "A"));
    const vectors = angles.map(({ path, vector }) => ({
      ...{ id: `nod_${path}`, field: "", model: MODEL, embedding: { vector, windowed: false } },
    }));
    await grow(stores, states, { vectors });
    for (const exact of [true, false]) {
      const { rows, approximate } = await stores.vectors.topK(SCOPE, READ, unit(1, 0), EVERYTHING, { limit: 5, exact });
      expect(approximate).toBe(!exact);
      const nearest = angles.slice(0, 5);
      expect(rows.map(({ key }) => key.pathKey)).toEqual(nearest.map(({ path }) => path));
      rows.forEach(({ value }, at) => {
        expect(value).toBeCloseTo(Math.cos(at / 40), 5);
      });
    }
    // The front's own memory knows neither bytes nor disks.
    if (!real) return;
    const client = new QdrantClient({ url, checkCompatibility: false });
    const { collections } = await client.getCollections();
    const name = collections.find((one) => one.name.startsWith(stores.settings.collectionPrefix ?? ""))?.name;
    const { config } = await client.getCollection(name ?? "");
    expect(config.quantization_config).toMatchObject({ scalar: { type: "int8", always_ram: true } });
    expect(config.params.vectors).toMatchObject({ dense: { on_disk: true } });
  });

  test("more contexts than a filter names are all looked at", async () => {
    const stores = open();
    const states = ["a0", "a0.a0", "a0.a0.a0", "a1", "a1.a0"].map((path) => state(path, "A"));
    const vectors = states.map(({ id }) => ({ id, field: "", model: MODEL, embedding: embedding(1, 1) }));
    await grow(stores, states, { vectors });
    const others = Array.from({ length: LIMITS.filterContexts }, (_, at) => `b${at}`);
    const found = async (scope: NodeFilter["scope"]): Promise<readonly string[]> => {
      const { rows } = await stores.vectors.topK(SCOPE, READ, unit(1, 1), { scope }, { limit: 2, exact: false });
      return rows.map(({ key }) => key.pathKey);
    };
    expect(await found({ kind: "descendants", of: [...others, "a0.a0", "a1"] })).toEqual(["a0.a0.a0", "a1.a0"]);
    expect(await found({ kind: "children", of: [...others, "nod_a0"] })).toEqual(["a0.a0"]);
    expect(await found({ kind: "descendants", of: ["a0.a0", "a1"] })).toEqual(["a0.a0.a0", "a1.a0"]);
  });

  test("a search leaves out states that have ended since, be they few or many, and writes nothing", async () => {
    const stores = open();
    await alike(stores, 40);
    const [first, ...ends] = paths(40).map((path) => `nod_${path}`);
    await stores.tree.commit(SCOPE, change(1, { ends }));
    const found = async (revision: number): Promise<readonly (readonly string[])[]> => {
      const read = { ...READ, revision };
      const { rows } = await stores.vectors.topK(SCOPE, read, unit(1, 0), EVERYTHING, BEST);
      const terms = new Map([["red", 0.5]]);
      const matches = await stores.lexical.matches(SCOPE, read, terms, EVERYTHING, { above: 0, limit: 10 });
      return [rows, matches].map((some) => some.map(({ key }) => key.id));
    };
    const before = [first, ...ends].slice(0, 10);
    const { ledger } = stores;
    const few = ledger.standing.bind(ledger);
    const more = Array.from({ length: LIMITS.storePoints }, (_, at) => ({
      id: `nod_x${at}`,
      born: 1,
      field: "",
      died: 2,
    }));
    const many: typeof few = async (...request) => {
      const standing = await few(...request);
      return { ...standing, ended: [...standing.ended, ...more] };
    };
    for (const standing of [few, many]) {
      ledger.standing = standing;
      expect(await found(2)).toEqual([[first], [first]]);
      expect(await found(1)).toEqual([before, before]);
      const condition = { vector: unit(1, 0), terms: new Map([["red", 0.5]]), matches: 1, counted: 2, a: 0.4 };
      const both = await stores.vectors.hybridTopK?.(SCOPE, { ...READ, revision: 2 }, condition, EVERYTHING, BEST);
      // Those that are sorted out afterwards would take the place of what has the terms.
      expect(both?.rows.map(({ key }) => key.id)).toEqual(standing === few ? [first] : undefined);
    }
    expect((await few(SCOPE, READ, 100)).ended).toHaveLength(39);
    const { points } = await stores.qdrant.points.points(SCOPE, MODEL, { limit: 40 });
    expect(points.every(({ died }) => died === undefined)).toBe(true);
  });

  test("the inventory goes through all points in pages, removes by name and brings ends in line", async () => {
    const stores = open();
    await alike(stores, 5);
    const { points } = stores.qdrant;
    const all = [];
    for (let after: string | undefined; ;) {
      const page = await points.points(SCOPE, MODEL, { limit: 2, ...(after !== undefined && { after }) });
      all.push(...page.points);
      if (page.next === undefined) break;
      after = page.next;
    }
    expect(fingerprintOf(all)).toEqual(await stores.vectors.fingerprint(SCOPE, MODEL));
    expect(all).toHaveLength(5);
    await points.remove(SCOPE, MODEL, [{ id: "nod_a0", born: 1, field: "" }]);
    await stores.tree.commit(SCOPE, change(1, { ends: ["nod_a0", "nod_a1"] }));
    const refs = ["nod_a0", "nod_a1", "nod_a2"].map((id) => ({ id, born: 1, field: "" }));
    await points.refresh(SCOPE, MODEL, refs);
    const { points: rest } = await points.points(SCOPE, MODEL, { limit: 10 });
    expect(rest.find(({ id }) => id === "nod_a1")).toEqual({ id: "nod_a1", born: 1, field: "", died: 2 });
    expect(rest.find(({ id }) => id === "nod_a2")).toEqual({ id: "nod_a2", born: 1, field: "" });
    // No row is left that nothing would ever end; what is missing is what the tree expects and the points lack.
    const expected = await stores.apart!.outbox.expectation(SCOPE, MODEL);
    expect(expected.pending).toBe(0);
    expect(expected.fingerprint.count).toBe(5);
    expect(rest).toHaveLength(4);
  });

  test("a request that comes late, by a writer that knew less, does not bring an ended state back to life", async () => {
    const stores = open();
    await alike(stores, 1);
    const { ledger, qdrant } = stores;
    const ref = { id: "nod_a0", born: 1, field: "" };
    const before = await ledger.sources(SCOPE, [ref]);
    await stores.tree.commit(SCOPE, change(1, { ends: [ref.id] }));
    await qdrant.points.refresh(SCOPE, MODEL, [ref]);
    const ended = { ...ref, died: 2 };
    expect((await qdrant.points.points(SCOPE, MODEL, { limit: 10 })).points).toEqual([ended]);
    ledger.sources = async () => before;
    ledger.settle = () => Promise.reject(new Error("killed"));
    const point = { ...ref, model: MODEL, embedding: embedding(1, 1) };
    await expect(stores.vectors.upsert(SCOPE, [point])).rejects.toThrow("killed");
    expect((await qdrant.points.points(SCOPE, MODEL, { limit: 10 })).points).toEqual([ended]);
    const { rows } = await stores.vectors.topK(SCOPE, { ...READ, revision: 2 }, unit(1, 1), EVERYTHING, BEST);
    expect(rows).toEqual([]);
  });

  test("nothing of a memory is left after its deletion, in any collection, whoever still writes", async () => {
    const stores = open();
    const other = { ...SCOPE, tenant: "ten_other" };
    await alike(stores, 3);
    await alike(stores, 2, other);
    await stores.tree.updateMemory(SCOPE, { nextEmbeddingModel: "model-2" }, 1);
    const second = { id: "nod_a0", born: 1, field: "", model: "model-2", embedding: embedding(1, 0, 0) };
    await stores.vectors.upsert(SCOPE, [second]);
    expect((await stores.tree.deleteMemory(SCOPE)).vectors).toBe(4);
    await stores.vectors.upsert(SCOPE, [second]);
    await stores.qdrant.points.refresh(SCOPE, MODEL, [second]);
    for (const model of [MODEL, "model-2"]) {
      expect((await stores.qdrant.points.points(SCOPE, model, { limit: 10 })).points).toEqual([]);
    }
    expect(await stores.qdrant.points.purge(SCOPE)).toBe(0);
    expect((await stores.vectors.fingerprint(other, MODEL)).count).toBe(2);
  });
});
