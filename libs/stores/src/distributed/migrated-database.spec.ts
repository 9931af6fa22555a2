import { afterEach, expect, jest, test } from "@jest/globals";
import { codeOf } from "../contract/fixtures.js";
import { Database } from "../neo4j/database.js";
import { MigratedDatabase } from "./migrated-database.js";

const OPTIONS = { url: "bolt://127.0.0.1:9", callMs: 50 };

afterEach(() => {
  jest.restoreAllMocks();
});

test("a call waits for a migration no longer than for an answer, and who comes after its end goes on", async () => {
  const reads = jest.spyOn(Database.prototype, "read").mockResolvedValue([]);
  const writes = jest.spyOn(Database.prototype, "write").mockResolvedValue("written");
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const migration = jest.fn(() => promise);
  const database = new MigratedDatabase(OPTIONS, migration);
  const calls = [database.ping(), database.query("", {}), database.write(async () => 1)];
  expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => "store_unavailable"));
  resolve(undefined);
  await database.ping();
  expect(await database.write(async () => "written")).toBe("written");
  expect(migration).toHaveBeenCalledTimes(1);
  // Nothing that was given up is done later.
  expect([reads.mock.calls.length, writes.mock.calls.length]).toEqual([1, 1]);
  await database.close();
});

test("a migration that failed is tried again by the next call", async () => {
  jest.spyOn(Database.prototype, "read").mockResolvedValue([]);
  const migration = jest.fn(async () => undefined).mockRejectedValueOnce(new Error("it failed"));
  const database = new MigratedDatabase(OPTIONS, migration);
  await expect(database.ping()).rejects.toThrow("it failed");
  await database.ping();
  expect(migration).toHaveBeenCalledTimes(2);
  await database.close();
});
