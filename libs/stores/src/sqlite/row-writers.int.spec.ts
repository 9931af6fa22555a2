/** Rows are written many at a time: what repeats, ends or fails among them must come out as if each were written alone. */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { systemClock } from "#core";
import type { NewState, VectorPoint } from "#memory";
import { change, codeOf, embedding, MODEL, newMemory, SCOPE, state, TENANT } from "../contract/fixtures.js";
import { Database } from "./database.js";
import { MemoryImages } from "./image/memory-images.js";
import { TREE_MIGRATIONS } from "./migrations.js";
import { SqliteTreeStore } from "./tree-store.js";
import { SqliteVectorStore } from "./vector-store.js";

/** More than a statement and a turn take, and no multiple of either. */
const MANY = 1_203;

let database: Database;
let tree: SqliteTreeStore;
let vectors: SqliteVectorStore;

beforeEach(async () => {
  database = Database.open({
    ...{ path: ":memory:", migrations: TREE_MIGRATIONS, synchronous: "full", lockWaitMs: 0, clock: systemClock },
  });
  const images = new MemoryImages(0);
  [tree, vectors] = [new SqliteTreeStore(database, images), new SqliteVectorStore(database, images)];
  await tree.createMemory(TENANT, newMemory(SCOPE.memory));
});
afterEach(() => database.close());

const rows = (sql: string): Promise<readonly unknown[]> => database.read((connection) => connection.tuples(sql));

const states = Array.from({ length: MANY }, (_, number) => state(`a${String(number).padStart(4, "0")}`, "A"));

const at = (index: number): NewState => states.at(index) ?? state("a0", "A");

/** The same two terms for each, and one of its own. */
const termsOf = (of: readonly NewState[]) =>
  of.map(({ id }, number) => ({
    ...{ id, field: "" },
    weights: new Map([
      ["same", 1 + number / 7],
      ["text", 0.5],
      [`own${id}`, 2],
    ] as const),
  }));

const pointOf = ({ id }: NewState, born: number, ...numbers: readonly number[]): VectorPoint => ({
  ...{ id, born, field: "", model: MODEL, embedding: embedding(...numbers) },
});

const vectorOf = async ({ id }: NewState, born: number): Promise<readonly number[]> => {
  const read = { revision: born, model: MODEL, field: "" };
  const [first = NaN] = await vectors.scores(SCOPE, read, embedding(1, 0).vector, [{ id, born }]);
  const [second = NaN] = await vectors.scores(SCOPE, read, embedding(0, 1).vector, [{ id, born }]);
  return [Math.round(first), Math.round(second)];
};

test("terms that documents share are written once, with all their postings, and keep their numbers", async () => {
  await tree.commit(SCOPE, change(0, { states, terms: termsOf(states) }));
  const shared = "SELECT id, term, frequency FROM terms WHERE term IN ('same', 'text') ORDER BY id";
  expect(await rows(shared)).toEqual([
    [1, "same", MANY],
    [2, "text", MANY],
  ]);
  expect(await rows("SELECT count(*), sum(term = 1), sum(weight = 0.5) FROM postings")).toEqual([
    [3 * MANY, MANY, MANY],
  ]);
  expect(await rows("SELECT p.weight FROM postings p WHERE p.term = 1 ORDER BY p.state")).toEqual(
    states.map((_, number) => [1 + number / 7]),
  );

  const again = states.slice(0, 70);
  await tree.commit(SCOPE, change(1, { ends: again.map(({ id }) => id), states: again, terms: termsOf(again) }));
  await tree.commit(SCOPE, change(2, { ends: again.map(({ id }) => id) }));
  const live = MANY - again.length;
  expect(await rows(shared)).toEqual([
    [1, "same", live],
    [2, "text", live],
  ]);
  expect(await rows("SELECT count(*), max(id), sum(frequency) FROM terms")).toEqual([[MANY + 2, MANY + 2, 3 * live]]);
  expect(await rows("SELECT documents FROM term_sets")).toEqual([[live]]);
  expect(await rows("SELECT count(*), min(length(terms)), max(length(terms)) FROM documents")).toEqual([
    [MANY + again.length, 12, 12],
  ]);
});

test("nothing is left of a change that has a document twice", async () => {
  const terms = termsOf(states);
  expect(await codeOf(tree.commit(SCOPE, change(0, { states, terms: [...terms, ...terms.slice(-1)] })))).toBe(
    "ERR_SQLITE_ERROR",
  );
  for (const table of ["states", "terms", "postings", "documents", "term_sets"]) {
    expect(await rows(`SELECT count(*) FROM ${table}`)).toEqual([[0]]);
  }
  await tree.commit(SCOPE, change(0, { states, terms }));
  expect(await rows("SELECT count(*) FROM postings")).toEqual([[3 * MANY]]);
});

test("a point that is stored again, in one call or the next, replaces its vector and counts once", async () => {
  await tree.commit(SCOPE, change(0, { states }));
  const points = states.map((one) => pointOf(one, 1, 1, 0));
  const [first, second, last] = [at(0), at(1), at(-1)];
  await vectors.upsert(SCOPE, [
    ...[pointOf(first, 1, 0, 1), ...points, pointOf(second, 1, 0, 1)],
    ...[pointOf(last, 1, 0, 1), pointOf({ ...last, id: "nod_none" }, 1, 1, 0), pointOf(last, 7, 1, 0)],
  ]);
  const counts = "SELECT live, (SELECT count(*) FROM vectors) FROM vector_sets";
  expect(await rows(counts)).toEqual([[MANY, MANY]]);
  expect(await Promise.all([first, second, last].map((one) => vectorOf(one, 1)))).toEqual([
    [1, 0],
    [0, 1],
    [0, 1],
  ]);

  await vectors.upsert(SCOPE, points);
  expect(await rows(counts)).toEqual([[MANY, MANY]]);
  expect(await vectorOf(last, 1)).toEqual([1, 0]);
  expect(await rows("SELECT min(sequence) > 1203, count(DISTINCT state) FROM vectors")).toEqual([[1, MANY]]);
});

test("a point of a state that ended is stored and not counted, beside that of the state that followed", async () => {
  const [one, other] = [at(0), at(1)];
  await tree.commit(SCOPE, change(0, { states: [one, other] }));
  await tree.commit(SCOPE, change(1, { ends: [one.id, other.id], states: [one] }));
  await vectors.upsert(SCOPE, [pointOf(one, 1, 1, 0), pointOf(one, 2, 0, 1), pointOf(other, 1, 1, 0)]);
  await vectors.upsert(SCOPE, [pointOf(one, 1, 0, 1), pointOf(one, 2, 1, 0)]);
  expect(await rows("SELECT live, (SELECT count(*) FROM vectors) FROM vector_sets")).toEqual([[1, 3]]);
  expect(await vectorOf(one, 1)).toEqual([0, 1]);
  expect(await vectorOf(one, 2)).toEqual([1, 0]);
});

test("fields and models whose names run together are sets of their own", async () => {
  await tree.commit(SCOPE, change(0, { states: [at(0)] }));
  const named = (field: string, model: string): VectorPoint => ({ ...pointOf(at(0), 1, 1, 0), field, model });
  await vectors.upsert(SCOPE, [named("title", "of it"), named("title of", "it")]);
  expect(await rows("SELECT field, model, live FROM vector_sets ORDER BY field")).toEqual([
    ["title", "of it", 1],
    ["title of", "it", 1],
  ]);
});
