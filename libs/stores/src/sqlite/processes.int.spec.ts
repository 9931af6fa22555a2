/** The file under several processes: opened at once, written by one while another reads, and left behind by a killed one. */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NodeFilter } from "#core";
import {
  change,
  codeOf,
  embedding,
  grow,
  idsOf,
  MODEL,
  newMemory,
  SCOPE,
  state,
  TENANT,
  unit,
} from "../contract/fixtures.js";
import { endOf, startWriter } from "../testing/start-writer.js";
import { inspectDatabase } from "./inspect-database.js";
import { openStores } from "./open-stores.js";

/** Rounds of the kill test; more by `ESPALIER_KILL_ROUNDS`. */
const ROUNDS = Number(process.env["ESPALIER_KILL_ROUNDS"] ?? 3);
const NODES = 5_000;
const EVERYTHING: NodeFilter = { scope: { kind: "descendants", of: [""] } };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "espalier-stores-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("processes that open a new folder at once all find its tables", async () => {
  const data = join(folder, "data");
  const children = Array.from({ length: 4 }, () => startWriter(data, "open"));
  expect(await Promise.all(children.map(endOf))).toEqual(children.map(() => 0));
  const stores = openStores({ folder: data });
  expect(await stores.keys.count()).toBe(children.length);
  await stores.close();
}, 30_000);

test("the files can be read by their owner only", async () => {
  const data = join(folder, "data");
  const stores = openStores({ folder: data });
  await grow(stores, [state("a0", "A")]);
  for (const file of ["espalier.db", "espalier.db-wal", "espalier-cache.db"]) {
    expect((await stat(join(data, file))).mode & 0o777).toBe(0o600);
  }
  expect((await stat(data)).mode & 0o777).toBe(0o700);
  await stores.close();
});

test(`a killed process leaves whole change sets only, all that were acknowledged among them (${ROUNDS} rounds)`, async () => {
  let acknowledged = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const writer = startWriter(folder, "commit", String(NODES));
    writer.on("message", (revision) => {
      acknowledged = Number(revision);
    });
    // Past an acknowledgement, so that the next change set is under way; where in it, chance decides.
    await once(writer, "message");
    const delay = Math.random() * 400;
    const killed = setTimeout(() => writer.kill("SIGKILL"), delay);
    await endOf(writer);
    clearTimeout(killed);
    const stores = openStores({ folder });
    const { revision, nodes } = await stores.tree.getMemory(SCOPE);
    expect({ round, delay, lost: revision < acknowledged }).toEqual({ round, delay, lost: false });
    expect(nodes).toBe(revision * NODES);
    const statistics = await stores.lexical.statistics(SCOPE, { field: "" }, ["text"]);
    expect(statistics).toEqual({ documents: nodes, frequencies: new Map([["text", nodes]]) });
    expect((await stores.vectors.fingerprint(SCOPE, MODEL)).count).toBe(nodes);
    const { types } = await stores.tree.schema(SCOPE);
    expect(types.map(({ type, count }) => [type, count])).toEqual([
      ["Day", revision],
      ["POI", nodes - revision],
    ]);
    await stores.close();
    expect(inspectDatabase(folder)).toMatchObject({ damages: [], nodes, drifted: [] });
  }
}, 600_000);

test("a process sees what another has committed, in trees, vectors and terms", async () => {
  const [reader, writer] = [openStores({ folder }), openStores({ folder })];
  const point = (id: string, ...numbers: readonly number[]) => ({
    id,
    field: "",
    model: MODEL,
    embedding: embedding(...numbers),
  });
  const terms = (id: string) => ({ id, field: "", weights: new Map([["red", 1]]) });
  await grow(writer, [state("a0", "A")], { vectors: [point("nod_a0", 1, 0)], terms: [terms("nod_a0")] });
  const search = async (revision: number): Promise<unknown> => {
    const read = { revision, model: MODEL, field: "" };
    const nearest = await reader.vectors.topK(SCOPE, read, unit(1, 1), EVERYTHING, { limit: 9, exact: true });
    const matches = await reader.lexical.matches(SCOPE, read, new Map([["red", 1]]), EVERYTHING, { above: 0 });
    return [nearest.rows.map(({ key }) => key.pathKey), matches.map(({ key }) => key.pathKey)];
  };
  expect(await search(1)).toEqual([["a0"], ["a0"]]);
  const [states, vectors] = [[state("a00", "A")], [point("nod_a00", 1, 1)]];
  await writer.tree.commit(SCOPE, change(1, { states, vectors, terms: [terms("nod_a00")] }));
  expect(await search(2)).toEqual([
    ["a00", "a0"],
    ["a0", "a00"],
  ]);
  expect(await search(1)).toEqual([["a0"], ["a0"]]);
  await writer.tree.commit(SCOPE, change(2, { ends: ["nod_a0"] }));
  expect(await search(3)).toEqual([["a00"], ["a00"]]);
  await writer.tree.deleteMemory(SCOPE);
  expect(await codeOf(search(3))).toBe("memory_not_found");
  await Promise.all([reader.close(), writer.close()]);
});

test("of two processes that commit on one revision, one is told of the conflict and nothing is lost", async () => {
  const both = [openStores({ folder }), openStores({ folder })];
  await both[0]!.tree.createMemory(TENANT, newMemory(SCOPE.memory));
  const results = await Promise.all(
    both.map(({ tree }, index) => codeOf(tree.commit(SCOPE, change(0, { states: [state(`a${index}`, "A")] })))),
  );
  expect([...results].sort()).toEqual(["no error", "revision_conflict"]);
  const winner = results.indexOf("no error");
  expect(idsOf(await both[0]!.tree.scan(SCOPE, { limit: 9 }))).toEqual([`nod_a${winner}`]);
  for (const stores of both) await stores.close();
});

test("other work of a process goes on during a long commit", async () => {
  const stores = openStores({ folder });
  await stores.tree.createMemory(TENANT, newMemory(SCOPE.memory));
  const states = Array.from({ length: 3_000 }, (_, index) => state(`a${String(index).padStart(5, "0")}`, "A"));
  const commit = stores.tree.commit(SCOPE, change(0, { states }));
  const ended = new AbortController();
  void commit.finally(() => {
    ended.abort();
  });
  let reads = 0;
  while (!ended.signal.aborted) {
    await stores.tree.getMemory(SCOPE);
    reads += 1;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  await commit;
  expect(reads).toBeGreaterThan(5);
  await stores.close();
});
