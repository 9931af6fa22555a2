/** What the stores answer when SQLite cannot do what it is asked. */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type EspalierError, systemClock } from "#core";
import { change, codeOf, grow, SCOPE, state } from "../contract/fixtures.js";
import { Database } from "./database.js";
import { MemoryImages } from "./image/memory-images.js";
import { TREE_MIGRATIONS } from "./migrations.js";
import { openStores } from "./open-stores.js";
import { SqliteTreeStore } from "./tree-store.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "espalier-stores-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const openingError = (): EspalierError => {
  try {
    openStores({ folder, lockWaitMs: 50 });
  } catch (error) {
    return error as EspalierError;
  }
  throw new Error("the stores were opened");
};

test("a write that waits too long for another process is store_unavailable; reads go on, and so do writes later", async () => {
  const stores = openStores({ folder, lockWaitMs: 50 });
  await grow(stores, [state("a0", "A")]);
  const other = new DatabaseSync(join(folder, "espalier.db"));
  other.exec("BEGIN IMMEDIATE");
  const call = stores.tree.commit(SCOPE, change(1, { states: [state("a1", "A")] }));
  await expect(call).rejects.toMatchObject({ code: "store_unavailable", cause: { errcode: 5 } });
  expect((await stores.tree.getMemory(SCOPE)).nodes).toBe(1);
  other.exec("ROLLBACK");
  expect((await stores.tree.commit(SCOPE, change(1, { states: [state("a1", "A")] }))).revision).toBe(2);
  other.close();
  await stores.close();
});

test("a write that another process holds up for a moment is done when it may", async () => {
  const stores = openStores({ folder, lockWaitMs: 10_000 });
  await grow(stores, [state("a0", "A")]);
  const other = new DatabaseSync(join(folder, "espalier.db"));
  other.exec("BEGIN IMMEDIATE");
  const commit = stores.tree.commit(SCOPE, change(1, { states: [state("a1", "A")] }));
  expect((await stores.tree.getMemory(SCOPE)).revision).toBe(1);
  other.exec("ROLLBACK");
  expect((await commit).revision).toBe(2);
  other.close();
  await stores.close();
});

test("a disk that is full fails the write, and the memory stays as it was", async () => {
  const stores = openStores({ folder });
  const before = await grow(stores, [state("a0", "A")]);
  await stores.close();
  const path = join(folder, "espalier.db");
  const database = Database.open({
    ...{ path, migrations: TREE_MIGRATIONS, synchronous: "full", lockWaitMs: 50, clock: systemClock },
  });
  // eslint-disable-next-line require-yield -- one statement
  await database.write(function* (connection) {
    connection.execute("PRAGMA max_page_count = 64");
  });
  const full = new SqliteTreeStore(database, new MemoryImages(0));
  const states = Array.from({ length: 2_000 }, (_, index) => state(`a1${index}`, "A", { text: "x".repeat(2_000) }));
  await expect(full.commit(SCOPE, change(1, { states }))).rejects.toMatchObject({
    code: "store_unavailable",
    cause: { errcode: 13 },
  });
  expect(await full.getMemory(SCOPE)).toEqual(before);
  await database.close();
});

test("a file that is no database is store_unavailable, with the reason", async () => {
  await writeFile(join(folder, "espalier.db"), "this is not a database, but long enough to be looked at ".repeat(50));
  expect(openingError()).toMatchObject({ code: "store_unavailable", message: expect.stringMatching(/not a database/) });
});

test("a database of a later release is left alone", async () => {
  await openStores({ folder }).close();
  const database = new DatabaseSync(join(folder, "espalier.db"));
  database.exec("PRAGMA user_version = 99");
  database.close();
  expect(openingError()).toMatchObject({ code: "store_unavailable", message: expect.stringMatching(/version 99/) });
});

test("a folder that cannot be made is store_unavailable", async () => {
  await writeFile(join(folder, "file"), "");
  folder = join(folder, "file", "data");
  expect(openingError()).toMatchObject({ code: "store_unavailable", cause: { code: "ENOTDIR" } });
  folder = join(folder, "..", "..");
});

test("a path key that two live nodes would share is refused as a whole", async () => {
  const stores = openStores({ folder });
  const before = await grow(stores, [state("a0", "A")]);
  const states = [state("a1", "A"), { ...state("a0", "A"), id: "nod_other" }];
  expect(await codeOf(stores.tree.commit(SCOPE, change(1, { states })))).not.toBe("no error");
  expect(await stores.tree.getMemory(SCOPE)).toEqual(before);
  await stores.close();
});
