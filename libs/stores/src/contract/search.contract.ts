import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type NodeFilter, roundRelevance } from "#core";
import type { FieldTerms, NewState } from "#memory";
import { termWeights } from "#scoring";
import type { Stores } from "../stores.js";
import { change, codeOf, embedding, grow, indexWhole, MODEL, type OpenEmpty, SCOPE, state, unit } from "./fixtures.js";

const EVERYTHING: NodeFilter = { scope: { kind: "descendants", of: [""] } };
const READ = { revision: 1, model: MODEL, field: "" };

/** What every VectorStore does. */
export function describeVectorStore(name: string, open: OpenEmpty): void {
  describe(`${name}: VectorStore`, () => {
    let stores: Stores;
    beforeEach(async () => {
      stores = await open();
      const states = [state("a0", "A"), state("a0.a0", "B"), state("a1", "B"), state("a2", "B", { text: "" })];
      const vectors = [
        { id: "nod_a0", field: "", model: MODEL, embedding: embedding(1, 0) },
        { id: "nod_a0.a0", field: "", model: MODEL, embedding: embedding(0, 1) },
      ];
      await grow(stores, states, { vectors });
    });
    afterEach(() => stores.close());

    const keysOf = async (filter: NodeFilter, vector: Float32Array, limit = 10, revision = 1): Promise<unknown> => {
      const { rows } = await stores.vectors.topK(SCOPE, { ...READ, revision }, vector, filter, { limit, exact: true });
      return rows.map(({ key, value }) => [key.pathKey, value]);
    };

    test("scores are cosines in the states' order, NaN without a vector", async () => {
      const states = ["a0.a0", "a1", "a0", "none"].map((path) => ({ id: `nod_${path}`, born: 1 }));
      const scores = await stores.vectors.scores(SCOPE, READ, unit(1, 1), states);
      expect([...scores].map((score) => Math.round(score * 1e6) / 1e6)).toEqual([0.707107, NaN, 0.707107, NaN]);
      const other = await stores.vectors.scores(SCOPE, { ...READ, model: "model-2" }, unit(1, 1, 1), states);
      expect([...other]).toEqual([NaN, NaN, NaN, NaN]);
    });

    test("the best come by rounded value, then document order; zeros are left out", async () => {
      expect(await keysOf(EVERYTHING, unit(1, 1))).toEqual([
        ["a0", 0.707107],
        ["a0.a0", 0.707107],
      ]);
      expect(await keysOf(EVERYTHING, unit(1, 1), 1)).toEqual([["a0", 0.707107]]);
      expect(await keysOf(EVERYTHING, unit(1, 0))).toEqual([["a0", 1]]);
      expect(await keysOf({ ...EVERYTHING, type: "B" }, unit(1, 1))).toEqual([["a0.a0", 0.707107]]);
      expect(await keysOf({ ...EVERYTHING, type: "D" }, unit(1, 1))).toEqual([]);
      expect(await keysOf({ scope: { kind: "children", of: ["nod_a0"] } }, unit(1, 1))).toEqual([["a0.a0", 0.707107]]);
      expect(await keysOf({ scope: { kind: "children", of: [null] } }, unit(1, 1))).toEqual([["a0", 0.707107]]);
      expect(await keysOf({ scope: { kind: "descendants", of: ["a0"] } }, unit(1, 1))).toEqual([["a0.a0", 0.707107]]);
    });

    test("a vector of another length is refused by name", async () => {
      expect(await codeOf(keysOf(EVERYTHING, unit(1, 1, 1)))).toBe("model_dimension");
      const point = { id: "nod_a1", born: 1, field: "", model: MODEL, embedding: embedding(1, 0, 0) };
      expect(await codeOf(stores.vectors.upsert(SCOPE, [point]))).toBe("model_dimension");
    });

    test("missing are the states with a text and no vector, until they are put", async () => {
      const missing = (): ReturnType<typeof stores.vectors.missing> =>
        stores.vectors.missing(SCOPE, READ, { filter: EVERYTHING }, 10);
      expect(await missing()).toEqual([{ id: "nod_a1", born: 1, text: "text of a1" }]);
      const states = [
        { id: "nod_a0", born: 1 },
        { id: "nod_a1", born: 1 },
        { id: "nod_a2", born: 1 },
      ];
      expect(await stores.vectors.missing(SCOPE, READ, { states }, 10)).toEqual(await missing());
      const point = { id: "nod_a1", born: 1, field: "", model: MODEL, embedding: embedding(1, 1) };
      await stores.vectors.upsert(SCOPE, [point, { ...point, id: "nod_none" }]);
      await stores.vectors.upsert(SCOPE, [point]);
      expect(await missing()).toEqual([]);
      expect(await keysOf(EVERYTHING, unit(1, 1), 1)).toEqual([["a1", 1]]);
    });

    test("a cosine knows no length: vectors need not be unit vectors", async () => {
      const numbers = [0.3, -0.2, 0.001];
      const embedded = [1e-12, 1, 1e12].map((length) => numbers.map((number) => number * length));
      const points = embedded.map((vector, at) => ({
        ...{ id: ["nod_a0", "nod_a0.a0", "nod_a1"][at] ?? "", born: 1, field: "", model: "model-2" },
        embedding: { vector: Float32Array.from(vector), windowed: false },
      }));
      await stores.tree.updateMemory(SCOPE, { nextEmbeddingModel: "model-2" }, 1);
      await stores.vectors.upsert(SCOPE, points);
      const scores = await stores.vectors.scores(SCOPE, { ...READ, model: "model-2" }, unit(0.3, -0.2, 0.001), points);
      for (const score of scores) expect(score).toBeCloseTo(1, 6);
      const across = await stores.vectors.scores(SCOPE, { ...READ, model: "model-2" }, unit(0, 0, 1), points);
      for (const score of across) expect(score).toBeCloseTo(0.001 / Math.hypot(...numbers), 6);
    });

    test("an attribute is a field of its own, printed if it is no text", async () => {
      const read = { ...READ, field: "name" };
      await stores.tree.commit(
        SCOPE,
        change(1, {
          states: [
            state("b0", "C", { attributes: { name: ["x", "y"] } }),
            state("b1", "C", { attributes: { name: "" } }),
            state("b2", "C", { attributes: { other: "z" } }),
          ],
        }),
      );
      const missing = await stores.vectors.missing(
        SCOPE,
        { ...read, revision: 2 },
        { filter: { ...EVERYTHING, type: "C" } },
        10,
      );
      expect(missing).toEqual([{ id: "nod_b0", born: 2, text: "x, y" }]);
      expect(await stores.vectors.missing(SCOPE, { ...read, revision: 2 }, { filter: EVERYTHING }, 2)).toHaveLength(2);
      const points = missing.map(({ id, born }) => ({
        id,
        born,
        field: "name",
        model: MODEL,
        embedding: embedding(0, 1),
      }));
      await stores.vectors.upsert(SCOPE, points);
      expect(await stores.vectors.scores(SCOPE, { ...read, revision: 2 }, unit(0, 1), points)).toEqual(
        Float64Array.of(1),
      );
    });

    test("a search sees the revision that it reads, also one that was overtaken", async () => {
      expect(await keysOf(EVERYTHING, unit(1, 0))).toEqual([["a0", 1]]);
      const vectors = [{ id: "nod_a0", field: "", model: MODEL, embedding: embedding(3, 4) }];
      await stores.tree.commit(SCOPE, change(1, { ends: ["nod_a0"], states: [state("a0", "A")], vectors }));
      expect(await keysOf(EVERYTHING, unit(1, 0), 10, 2)).toEqual([["a0", 0.6]]);
      expect(await keysOf(EVERYTHING, unit(1, 0), 10, 1)).toEqual([["a0", 1]]);
      await stores.tree.commit(SCOPE, change(2, { ends: ["nod_a0.a0"] }));
      expect(await keysOf(EVERYTHING, unit(0, 1), 10, 3)).toEqual([["a0", 0.8]]);
      expect(await keysOf(EVERYTHING, unit(0, 1), 10, 2)).toEqual([
        ["a0.a0", 1],
        ["a0", 0.8],
      ]);
    });

    test("vectors of a model that the memory left are deleted and counted, and fingerprints are of what is there", async () => {
      const { vectors, tree } = stores;
      await tree.updateMemory(SCOPE, { nextEmbeddingModel: "model-2" }, 1);
      const read = { ...READ, model: "model-2" };
      expect(await vectors.missing(SCOPE, read, { filter: EVERYTHING }, 10)).toHaveLength(3);
      const before = await vectors.fingerprint(SCOPE, MODEL);
      expect(before.count).toBe(2);
      const point = { id: "nod_a1", born: 1, field: "", model: "model-2", embedding: embedding(1, 1, 1) };
      await vectors.upsert(SCOPE, [point]);
      expect(await vectors.fingerprint(SCOPE, MODEL)).toEqual(before);
      expect(await vectors.deleteFormer(SCOPE)).toBe(0);
      await tree.updateMemory(SCOPE, { embeddingModel: "model-2", nextEmbeddingModel: null }, 2);
      expect(await vectors.deleteFormer(SCOPE)).toBe(2);
      expect(await vectors.deleteFormer(SCOPE)).toBe(0);
      expect(await vectors.fingerprint(SCOPE, MODEL)).toEqual({ count: 0, hash: "0000000000000000" });
      expect((await vectors.fingerprint(SCOPE, "model-2")).count).toBe(1);
      expect(await vectors.missing(SCOPE, read, { filter: EVERYTHING }, 10)).toHaveLength(2);
      await tree.updateMemory(SCOPE, { nextEmbeddingModel: MODEL }, 3);
      expect(await vectors.missing(SCOPE, READ, { filter: EVERYTHING }, 10)).toHaveLength(3);
    });

    test("vectors for a memory that is gone are dropped", async () => {
      const point = { id: "nod_a1", born: 1, field: "", model: MODEL, embedding: embedding(1, 1) };
      await stores.vectors.upsert({ tenant: "other", memory: SCOPE.memory }, [point]);
      expect((await stores.vectors.fingerprint(SCOPE, MODEL)).count).toBe(2);
      await stores.tree.deleteMemory(SCOPE);
      await stores.vectors.upsert(SCOPE, [point]);
      expect(await codeOf(stores.vectors.fingerprint(SCOPE, MODEL))).toBe("memory_not_found");
    });
  });
}

/** What every LexicalIndex does. Weights are those of the texts: a store may come by them in its own way. */
export function describeLexicalIndex(name: string, open: OpenEmpty): void {
  describe(`${name}: LexicalIndex`, () => {
    let stores: Stores;
    const termsOf = (id: string, text: string, field = ""): Omit<FieldTerms, "born"> => {
      return { id, field, weights: termWeights(text) };
    };
    /** A value as it comes from the weights of a text. */
    const valueOf = (text: string, terms: ReadonlyMap<string, number>): number =>
      roundRelevance([...terms].reduce((sum, [term, factor]) => sum + factor * (termWeights(text).get(term) ?? 0), 0));
    const texts = { a0: "red sea", "a0.a0": "red", a1: "of the", a2: "" };
    beforeEach(async () => {
      stores = await open();
      const states = Object.entries(texts).map(([path, text]) => state(path, path === "a0" ? "A" : "B", { text }));
      const terms = states.filter(({ text }) => text !== "").map(({ id, text }) => termsOf(id, text));
      await grow(stores, states, { terms });
    });
    afterEach(() => stores.close());

    const matches = async (
      terms: ReadonlyMap<string, number>,
      filter: NodeFilter,
      above = 0,
      revision = 1,
    ): Promise<unknown> => {
      const rows = await stores.lexical.matches(SCOPE, { revision, field: "" }, terms, filter, { above });
      return rows.map(({ key, value }) => [key.pathKey, value]);
    };

    test("statistics count the live documents of the field, also those without a term", async () => {
      expect(await stores.lexical.statistics(SCOPE, { field: "" }, ["red", "none"])).toMatchObject({
        documents: 3,
        frequencies: new Map([["red", 2]]),
      });
      await stores.tree.commit(
        SCOPE,
        change(1, {
          ends: ["nod_a0", "nod_a1"],
          states: [state("a0", "A", { text: "blue" })],
          terms: [termsOf("nod_a0", "blue")],
        }),
      );
      expect(await stores.lexical.statistics(SCOPE, { field: "" }, ["red", "sea", "blue"])).toMatchObject({
        documents: 2,
        frequencies: new Map([
          ["red", 1],
          ["blue", 1],
        ]),
      });
    });

    test("values are sums of factors times weights, rounded in a ranking and over its bound", async () => {
      const terms = new Map([
        ["red", 0.3],
        ["sea", 0.2],
      ]);
      const [both, red] = [valueOf(texts.a0, terms), valueOf(texts["a0.a0"], terms)];
      const states = ["a1", "a0", "a0.a0"].map((path) => ({ id: `nod_${path}`, born: 1 }));
      const scores = await stores.lexical.scores(SCOPE, READ, terms, states);
      expect([...scores].map(roundRelevance)).toEqual([0, both, red]);
      expect(await matches(terms, EVERYTHING)).toEqual([
        ["a0", both],
        ["a0.a0", red],
      ]);
      expect(await matches(terms, EVERYTHING, red)).toEqual([["a0", both]]);
      expect(await matches(terms, { ...EVERYTHING, type: "B" })).toEqual([["a0.a0", red]]);
      expect(await matches(terms, { scope: { kind: "children", of: [null] } })).toEqual([["a0", both]]);
      expect(await matches(terms, { scope: { kind: "descendants", of: ["a0"] } })).toEqual([["a0.a0", red]]);
      expect(await matches(new Map([["none", 1]]), EVERYTHING)).toEqual([]);
      const first = await stores.lexical.matches(SCOPE, READ, terms, EVERYTHING, { above: 0, limit: 1 });
      expect(first.map(({ key }) => key.pathKey)).toEqual(["a0"]);
    });

    test("a word that is longer than a key of an index may be is a term like others", async () => {
      const text = `${"0f".repeat(20_000)} ${"会议".repeat(5_000)}`;
      await stores.tree.commit(
        SCOPE,
        change(1, { states: [state("a7", "A", { text })], terms: [termsOf("nod_a7", text)] }),
      );
      const terms = [...termWeights(text).keys()];
      expect(terms).toHaveLength(2);
      const { frequencies } = await stores.lexical.statistics(SCOPE, { field: "" }, terms);
      expect([...frequencies.values()]).toEqual([1, 1]);
      const factors = new Map(terms.map((term) => [term, 0.5]));
      expect(await matches(factors, EVERYTHING, 0, 2)).toEqual([["a7", valueOf(text, factors)]]);
    });

    test("equal values come in document order, also through the cut", async () => {
      const states = ["a5", "a3", "a4", "a6"].map((path) => state(path, "C", { text: "green" }));
      const terms = states.map(({ id, text }) => termsOf(id, text));
      await stores.tree.commit(SCOPE, change(1, { states, terms }));
      const read = { revision: 2, field: "" };
      const rows = await stores.lexical.matches(SCOPE, read, new Map([["green", 0.5]]), EVERYTHING, {
        above: 0,
        limit: 3,
      });
      expect(rows.map(({ key }) => key.pathKey)).toEqual(["a3", "a4", "a5"]);
    });

    test("an older revision is searched as it was", async () => {
      const red = new Map([["red", 0.5]]);
      expect(await matches(red, EVERYTHING)).toHaveLength(2);
      await stores.tree.commit(SCOPE, change(1, { ends: ["nod_a0.a0"] }));
      expect(await matches(red, EVERYTHING, 0, 2)).toEqual([["a0", valueOf(texts.a0, red)]]);
      expect(await matches(red, EVERYTHING, 0, 1)).toEqual([
        ["a0.a0", valueOf(texts["a0.a0"], red)],
        ["a0", valueOf(texts.a0, red)],
      ]);
    });

    test("an attribute is indexed once, at the head, and later commits keep it", async () => {
      const { lexical, tree } = stores;
      expect([await lexical.indexed(SCOPE, ""), await lexical.indexed(SCOPE, "name")]).toEqual([true, false]);
      expect(await lexical.fields(SCOPE)).toEqual([""]);
      // The name of every state is its type and its path.
      await indexWhole(lexical, SCOPE, "name");
      expect(await indexWhole(lexical, SCOPE, "name")).toBe(1);
      expect(await lexical.indexed(SCOPE, "name")).toBe(true);
      expect(await lexical.fields(SCOPE)).toEqual(["", "name"]);
      const attributes = { name: "last a1" };
      await tree.commit(
        SCOPE,
        change(1, { states: [state("a3", "A", { attributes })], terms: [termsOf("nod_a3", attributes.name, "name")] }),
      );
      expect(await lexical.statistics(SCOPE, { field: "name" }, ["a1", "last", "red"])).toMatchObject({
        documents: 5,
        frequencies: new Map([
          ["a1", 2],
          ["last", 1],
        ]),
      });
      const read = { revision: 2, field: "name" };
      const rows = await lexical.matches(SCOPE, read, new Map([["a1", 0.5]]), EVERYTHING, { above: 0 });
      expect(rows.map(({ key }) => key.pathKey).sort()).toEqual(["a1", "a3"]);
    });

    test("a field of many pages is indexed while commits come between them, and read once it is whole", async () => {
      const { lexical, tree } = stores;
      const wide = (path: string, word: string): NewState =>
        state(path, "C", { attributes: { word: `green ${word}` } });
      const paths = Array.from({ length: 2_300 }, (_, index) => `b${String(index).padStart(4, "0")}`);
      await tree.commit(SCOPE, change(1, { states: paths.map((path) => wide(path, `old${path}`)) }));
      const first = await lexical.indexPage(SCOPE, "word");
      expect(await lexical.fields(SCOPE)).toEqual(["", "word"]);
      expect(await lexical.indexed(SCOPE, "word")).toBe(first);
      if (!first) {
        const half = await lexical.statistics(SCOPE, { field: "word" }, ["green"]);
        expect([half.documents, half.frequencies.size]).toEqual([0, 0]);
      }
      // What begins and ends before and behind the page that comes next.
      for (const [index, path] of ["b0001", "b2299", "b1100"].entries()) {
        const added = wide(`c${path}`, "blue");
        const changed = wide(path, "red");
        const terms = [added, changed].map(({ id, attributes }) => termsOf(id, String(attributes["word"]), "word"));
        const commit = change(2 + index, { ends: [changed.id], states: [changed, added], terms });
        await tree.commit(SCOPE, { ...commit, termFields: ["", "word"] });
        await Promise.all([lexical.indexPage(SCOPE, "word"), lexical.indexPage(SCOPE, "word")]);
      }
      await indexWhole(lexical, SCOPE, "word");
      expect(await lexical.indexed(SCOPE, "word")).toBe(true);
      const asked = ["green", "blue", "red", "oldb0001", "oldb2299", "oldb2298"];
      const { documents, frequencies } = await lexical.statistics(SCOPE, { field: "word" }, asked);
      expect(documents).toBe(2_303);
      expect(Object.fromEntries(frequencies)).toEqual({ green: 2_303, blue: 3, red: 3, oldb2298: 1 });
      const read = { revision: 5, field: "word" };
      const rows = await lexical.matches(SCOPE, read, new Map([["red", 0.5]]), EVERYTHING, { above: 0 });
      expect(rows.map(({ key }) => key.pathKey)).toEqual(["b0001", "b1100", "b2299"]);
    });

    test("terms of a field that is not indexed are left out until it is", async () => {
      const terms = [termsOf("nod_a3", "early", "name")];
      const states = [state("a3", "A", { attributes: { name: "early" } })];
      await stores.tree.commit(SCOPE, change(1, { states, terms }));
      expect(await stores.lexical.indexed(SCOPE, "name")).toBe(false);
      expect((await stores.lexical.statistics(SCOPE, { field: "name" }, ["early"])).documents).toBe(0);
    });
  });
}
