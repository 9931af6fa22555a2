/** What is read again is not planned again: SQLite would do so unnoticed, and takes longer for it than for most reads. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { constants } from "node:sqlite";
import { systemClock } from "#core";
import type { Position } from "#query";
import { change, index, newMemory, range, SCOPE, state, step, TENANT } from "../contract/fixtures.js";
import { Database } from "./database.js";
import { MemoryImages } from "./image/memory-images.js";
import { TREE_MIGRATIONS } from "./migrations.js";
import { SqliteTreeStore } from "./tree-store.js";

let database: Database;
let tree: SqliteTreeStore;
/** Selects that SQLite asked about: it does when it plans them. */
let planned = 0;

beforeAll(async () => {
  database = Database.open({
    ...{ path: ":memory:", migrations: TREE_MIGRATIONS, synchronous: "full", lockWaitMs: 0, clock: systemClock },
  });
  tree = new SqliteTreeStore(database, new MemoryImages(0));
  await tree.createMemory(TENANT, newMemory(SCOPE.memory));
  await tree.commit(SCOPE, change(0, { states: [state("a0", "A"), state("a0.a0", "B"), state("a0.a1", "B")] }));
  await database.read(({ database: connected }) => {
    connected.setAuthorizer((action) => {
      if (action === constants.SQLITE_SELECT) planned += 1;
      return constants.SQLITE_OK;
    });
  });
});
afterAll(() => database.close());

const run = (type: string, position?: Position, limit?: number) =>
  tree.run(SCOPE, 1, {
    ...{ contexts: "root", steps: [step("descendant", type, position)], values: true },
    ...(limit !== undefined && { limit }),
  });
const evidence = (position?: Position) =>
  tree.evidence(SCOPE, 1, {
    ...{ contexts: [{ id: "nod_a0", pathKey: "a0" }], values: true },
    paths: [
      { steps: [step("descendant", "B", position)], keep: [true] },
      { steps: [step("descendant"), step("descendant", "B", range(2))], keep: [false, true] },
    ],
  });

test.each([
  ["a run", () => run("B")],
  ["a run with a limit", () => run("B", undefined, 1)],
  ["a run of the first", () => run("B", index(1))],
  ["a run of the last, limited further", () => run("B", range(-2), 1)],
  ["a run from one end to the other", () => run("B", range(1, -2))],
  ["a run across", () => run("B", range(-2, 1))],
  ["evidence", () => evidence()],
  ["the first of evidence", () => evidence(index(1))],
  ["the last of evidence", () => evidence(range(-2))],
  ["subtrees", () => tree.subtrees(SCOPE, 1, ["nod_a0"], 2)],
  ["children", () => tree.children(SCOPE, 1, "nod_a0", { limit: 1 })],
  ["a scan", () => tree.scan(SCOPE, { limit: 2 })],
  ["a list of memories", () => tree.listMemories(TENANT, { limit: 2 })],
])("%s", async (_, read) => {
  await read();
  planned = 0;
  await read();
  expect(planned).toBe(0);
});
