import { expect, test } from "@jest/globals";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { change, embedding, indexWhole, MODEL, newMemory, SCOPE, state, TENANT } from "../contract/fixtures.js";
import type { Stores } from "../stores.js";
import { openStores } from "./open-stores.js";

/** A memory with rows in every table that a memory has rows in. */
async function fill(stores: Stores, memory: string): Promise<void> {
  const scope = { tenant: TENANT, memory };
  await stores.tree.createMemory(TENANT, newMemory(memory, { labels: { user: "u1" } }));
  const states = [state("a0", "A", { metadata: { source: "s" } }), state("a0.a0", "B")];
  const vectors = [{ id: "nod_a0", field: "", model: MODEL, embedding: embedding(1, 0) }];
  const terms = [{ id: "nod_a0", field: "", weights: new Map([["text", 1]]) }];
  await stores.tree.commit(scope, change(0, { states, vectors, terms }));
  await indexWhole(stores.lexical, scope, "name");
  await stores.tree.commit(scope, change(1, { ends: ["nod_a0"], states: [state("a0", "C")] }));
  await stores.blobs.put(TENANT, `payload of ${memory}`, Uint8Array.of(1), { memory, expiresAt: 1 });
}

test("no table keeps a row of a deleted memory", async () => {
  const folder = await mkdtemp(join(tmpdir(), "espalier-stores-"));
  const stores = openStores({ folder });
  const database = new DatabaseSync(join(folder, "espalier.db"), { readOnly: true });
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    .all()
    .map(({ name }) => String(name))
    .filter((name) => !["api_keys", "tenants"].includes(name));
  const count = (): Record<string, unknown> =>
    Object.fromEntries(
      tables.map((table) => [table, database.prepare(`SELECT count(*) AS count FROM "${table}"`).get()?.["count"]]),
    );
  try {
    await fill(stores, "mem_2");
    const before = count();
    expect(Object.values(before)).not.toContain(0);
    await fill(stores, SCOPE.memory);
    await stores.tree.deleteMemory(SCOPE);
    expect(count()).toEqual(before);
  } finally {
    database.close();
    await stores.close();
    await rm(folder, { recursive: true, force: true });
  }
});
