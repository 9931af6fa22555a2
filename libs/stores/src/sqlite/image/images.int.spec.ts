/** What images do as they age, fill up and share their space; that they answer right at all is the contract's. */
import { expect, test } from "@jest/globals";
import { type NodeFilter, systemClock } from "#core";
import { change, embedding, MODEL, newMemory, state, TENANT, unit } from "../../contract/fixtures.js";
import type { Stores } from "../../stores.js";
import { Database } from "../database.js";
import { SqliteLexicalIndex } from "../lexical-index.js";
import { findHead } from "../memories.js";
import { TREE_MIGRATIONS } from "../migrations.js";
import { openStores } from "../open-stores.js";
import { SqliteTreeStore } from "../tree-store.js";
import { SqliteVectorStore } from "../vector-store.js";
import { MemoryImages } from "./memory-images.js";

const EVERYTHING: NodeFilter = { scope: { kind: "descendants", of: [""] } };
const NODES = 1_200;

const pathOf = (index: number): string => `a${String(index).padStart(5, "0")}`;
const scopeOf = (memory: string) => ({ tenant: TENANT, memory });

/** A change set of nodes whose vectors turn with their number, each with the word of its revision. */
function turning(base: number, indexes: readonly number[], ends: readonly number[] = []) {
  const states = indexes.map((index) => state(pathOf(index), "A"));
  return change(base, {
    states,
    ends: ends.map((index) => `nod_${pathOf(index)}`),
    vectors: states.map(({ id }, at) => ({
      id,
      field: "",
      model: MODEL,
      embedding: embedding(1, (base + 1) * indexes[at]!),
    })),
    terms: states.map(({ id }) => ({ id, field: "", weights: new Map([[`word${base + 1}`, 1]]) })),
  });
}

async function answers(
  { vectors, lexical }: Pick<Stores, "vectors" | "lexical">,
  memory: string,
  revision: number,
): Promise<unknown> {
  const read = { revision, model: MODEL, field: "" };
  const top = await vectors.topK(scopeOf(memory), read, unit(0, 1), EVERYTHING, { limit: 20, exact: true });
  const terms = new Map([
    [`word${revision}`, 0.5],
    ["word1", 0.25],
  ]);
  const matches = await lexical.matches(scopeOf(memory), read, terms, EVERYTHING, { above: 0, limit: 20 });
  const states = top.rows.map(({ key }) => key);
  const scores = await vectors.scores(scopeOf(memory), read, unit(1, 1), states);
  return [top, matches, scores, await lexical.scores(scopeOf(memory), read, terms, states)];
}

const all = Array.from({ length: NODES }, (_, index) => index);

test("an image that carries many dead states is made anew, and answers as statements do all along", async () => {
  const [imaged, plain] = [openStores({ folder: ":memory:" }), openStores({ folder: ":memory:", imageBytes: 0 })];
  for (const { tree } of [imaged, plain]) await tree.createMemory(TENANT, newMemory("mem_1"));
  for (let base = 0; base < 4; base += 1) {
    const next = turning(base, all, base === 0 ? [] : all);
    for (const stores of [imaged, plain]) await stores.tree.commit(scopeOf("mem_1"), next);
    for (const revision of [base + 1, base, 1].filter((one) => one > 0)) {
      expect(await answers(imaged, "mem_1", revision)).toEqual(await answers(plain, "mem_1", revision));
    }
  }
  await Promise.all([imaged.close(), plain.close()]);
});

test("memories that do not fit together, or at all, are answered like any other", async () => {
  // Room for one of them; too little for any.
  for (const imageBytes of [600_000, 10_000]) {
    const [imaged, plain] = [
      openStores({ folder: ":memory:", imageBytes }),
      openStores({ folder: ":memory:", imageBytes: 0 }),
    ];
    for (const stores of [imaged, plain]) {
      for (const memory of ["mem_1", "mem_2"]) {
        await stores.tree.createMemory(TENANT, newMemory(memory));
        await stores.tree.commit(scopeOf(memory), turning(0, memory === "mem_1" ? all : all.slice(5)));
      }
    }
    for (const memory of ["mem_1", "mem_2", "mem_1", "mem_2"]) {
      expect(await answers(imaged, memory, 1)).toEqual(await answers(plain, memory, 1));
    }
    await Promise.all([imaged.close(), plain.close()]);
  }
});

/** Trees and vectors in memory, over images that a test looks into. */
function storesOver(images: MemoryImages) {
  const database = Database.open({
    ...{ path: ":memory:", migrations: TREE_MIGRATIONS, synchronous: "full", lockWaitMs: 1_000, clock: systemClock },
  });
  const tree = new SqliteTreeStore(database, images);
  const vectors = new SqliteVectorStore(database, images);
  return { tree, vectors, lexical: new SqliteLexicalIndex(database, images), database };
}

test("images stay within their bytes while memories grow and get vectors", async () => {
  const bytes = 1_200_000;
  const images = new MemoryImages(bytes);
  const { tree, vectors, lexical, database } = storesOver(images);
  const plain = openStores({ folder: ":memory:", imageBytes: 0 });
  const memories = ["mem_1", "mem_2", "mem_3"];
  for (const memory of memories) {
    for (const one of [tree, plain.tree]) await one.createMemory(TENANT, newMemory(memory));
  }
  let most = 0;
  for (let base = 0; base < 4; base += 1) {
    const next = turning(base, all.slice(base * 300, (base + 1) * 300));
    for (const memory of memories) {
      for (const one of [tree, plain.tree]) await one.commit(scopeOf(memory), next);
      const right = await answers(plain, memory, base + 1);
      // Statements may answer the first.
      expect(await answers({ vectors, lexical }, memory, base + 1)).toEqual(right);
      expect(await answers({ vectors, lexical }, memory, base + 1)).toEqual(right);
      expect(images.held.bytes).toBeLessThanOrEqual(bytes);
      most = Math.max(most, images.held.bytes);
    }
  }
  expect(most).toBeGreaterThan(bytes / 2);
  await Promise.all([database.close(), plain.close()]);
});

test("an image that a read left halfway is forgotten, and a new one answers", async () => {
  const images = new MemoryImages(100_000_000);
  const { tree, vectors, lexical, database } = storesOver(images);
  await tree.createMemory(TENANT, newMemory("mem_1"));
  await tree.commit(scopeOf("mem_1"), turning(0, all));
  const right = await answers({ vectors, lexical }, "mem_1", 1);
  expect(images.held.vectorSets).toBe(1);
  const size = { revision: 1, states: () => NODES };
  const failing = database.read((connection) => {
    images.open(connection, findHead(connection, scopeOf("mem_1")), size, () => {
      throw new Error("halfway");
    });
  });
  await expect(failing).rejects.toThrow("halfway");
  expect(images.held).toEqual({ bytes: 0, vectorSets: 0 });
  expect(await answers({ vectors, lexical }, "mem_1", 1)).toEqual(right);
  expect(images.held.vectorSets).toBe(1);
  await database.close();
});

test("vectors that have no room, at first or once they have grown, are read by statements", async () => {
  // Two pages hold some 7,400 vectors of the tests beside what is computed there; the last revision has 7,500.
  const images = new MemoryImages(100_000_000, 2);
  const { tree, vectors, lexical, database } = storesOver(images);
  const plain = openStores({ folder: ":memory:", imageBytes: 0 });
  for (const one of [tree, plain.tree]) await one.createMemory(TENANT, newMemory("mem_1"));
  const sizes: number[] = [];
  for (let base = 0; base < 5; base += 1) {
    const many = Array.from({ length: 1_500 }, (_, index) => base * 1_500 + index);
    for (const one of [tree, plain.tree]) await one.commit(scopeOf("mem_1"), turning(base, many));
    const right = await answers(plain, "mem_1", base + 1);
    expect(await answers({ vectors, lexical }, "mem_1", base + 1)).toEqual(right);
    expect(await answers({ vectors, lexical }, "mem_1", base + 1)).toEqual(right);
    sizes.push(images.held.vectorSets);
  }
  expect(sizes[0]).toBe(1);
  expect(sizes.at(-1)).toBe(0);
  await Promise.all([database.close(), plain.close()]);
});

test("a memory that moves to another model is searched by the new vectors", async () => {
  const stores = openStores({ folder: ":memory:" });
  await stores.tree.createMemory(TENANT, newMemory("mem_1"));
  await stores.tree.commit(scopeOf("mem_1"), turning(0, [1, 2]));
  const first = async (model: string): Promise<string | undefined> => {
    const read = { revision: 1, model, field: "" };
    const { rows } = await stores.vectors.topK(scopeOf("mem_1"), read, unit(0, 1), EVERYTHING, {
      limit: 1,
      exact: true,
    });
    return rows[0]?.key.pathKey;
  };
  expect(await first(MODEL)).toBe(pathOf(2));
  const points = [1, 2].map((index) => ({
    ...{ id: `nod_${pathOf(index)}`, born: 1, field: "", model: "model-2" },
    embedding: embedding(index, 1),
  }));
  await stores.vectors.upsert(scopeOf("mem_1"), points);
  await stores.tree.updateMemory(scopeOf("mem_1"), { embeddingModel: "model-2" }, 1);
  expect(await stores.vectors.deleteFormer(scopeOf("mem_1"))).toBe(2);
  expect(await first("model-2")).toBe(pathOf(1));
  expect(await first(MODEL)).toBeUndefined();
  await stores.close();
});
