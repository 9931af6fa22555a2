import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { describeWithNeo4j } from "../../../../test/support/neo4j.js";
import { Neo4jBlobStore } from "./blob-store.js";
import { Database } from "./database.js";
import { migrate } from "./migrate.js";

const MEBIBYTE = 1024 * 1024;

await describeWithNeo4j("Neo4j: blobs in chunks", (uri) => {
  let database: Database;
  let blobs: Neo4jBlobStore;
  beforeAll(async () => {
    database = new Database({ url: uri });
    await migrate(database);
    blobs = new Neo4jBlobStore(database);
  });
  afterAll(() => database.close());

  const chunks = async (): Promise<number> => {
    const [row] = await database.read((transaction) =>
      transaction.run<{ readonly count: number }>("MATCH (c:BlobChunk) RETURN count(c) AS count"),
    );
    return row?.count ?? 0;
  };

  test("bytes of any length come back as they were put", async () => {
    for (const length of [0, 1, MEBIBYTE - 1, MEBIBYTE, 2 * MEBIBYTE + 3]) {
      const bytes = patternOf(length, length);
      await blobs.put("tenant", `of ${length}`, bytes, { expiresAt: 10 });
      const found = await blobs.get("tenant", `of ${length}`);
      expect(found?.length).toBe(length);
      expect(Buffer.compare(found ?? new Uint8Array(), bytes)).toBe(0);
    }
    expect(await chunks()).toBe(1 + 1 + 1 + 3);
    expect(await blobs.sweep(11)).toBe(5);
    expect(await chunks()).toBe(0);
  });

  test("a reader sees one version or the other while a blob is replaced, and old chunks go", async () => {
    const versions = [1, 2, 3].map((seed) => patternOf(MEBIBYTE + 10, seed));
    await blobs.put("tenant", "k", patternOf(MEBIBYTE + 10, 1), { expiresAt: 10 });
    const replace = async (): Promise<void> => {
      for (const bytes of versions) await blobs.put("tenant", "k", bytes, { expiresAt: 10 });
    };
    let isDone = false;
    const read = async (): Promise<void> => {
      while (!isDone) {
        const found = await blobs.get("tenant", "k");
        expect(versions.some((bytes) => found !== undefined && Buffer.compare(bytes, found) === 0)).toBe(true);
      }
    };
    await Promise.all([replace().finally(() => (isDone = true)), read()]);
    expect(await chunks()).toBe(2);
    await blobs.delete("tenant", "k");
    expect(await chunks()).toBe(0);
  });

  test("a tenant's blobs go with all their chunks, a bounded number at a time, and no one else's", async () => {
    for (const [key, count] of [
      ["large", 25],
      ["a", 1],
      ["b", 0],
    ] as const) {
      await blobs.put("tenant", key, patternOf(count * MEBIBYTE, 1), { expiresAt: 10 });
    }
    await blobs.put("tenant-2", "k", patternOf(MEBIBYTE, 1), { expiresAt: 10 });
    const removed: number[] = [];
    const write = database.write.bind(database);
    database.write = async (work) => {
      const before = await chunks();
      const result = await write(work);
      removed.push(before - (await chunks()));
      return result;
    };
    expect(await blobs.deleteTenant("tenant")).toBe(3);
    database.write = write;
    expect(Math.max(...removed)).toBe(20);
    expect(await chunks()).toBe(1);
    await blobs.deleteTenant("tenant-2");
  });

  test("chunks that no blob points at are swept when they expire", async () => {
    await database.write((transaction) =>
      transaction.run("CREATE (:BlobChunk {blob: 'dead', part: 0, bytes: $bytes, expiresAt: 5})", {
        bytes: new Int8Array(3),
      }),
    );
    expect(await blobs.sweep(5)).toBe(0);
    expect(await chunks()).toBe(1);
    expect(await blobs.sweep(6)).toBe(0);
    expect(await chunks()).toBe(0);
  });
});

/** Bytes over the whole range, other ones for each seed. */
function patternOf(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => (index * 31 + seed) % 256);
}
