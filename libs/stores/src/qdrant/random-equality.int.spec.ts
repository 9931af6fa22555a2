import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { describeWithQdrant } from "../../../../test/support/qdrant.js";
import { type MemoryScope, NODE_FIELD, type NodeFilter, type NodeKey } from "#core";
import type { ScoredKey } from "#scoring";
import { indexWhole, MODEL, newMemory, TENANT } from "../contract/fixtures.js";
import { type Edit, FIELDS, HistoryWriter, histories } from "../contract/random-history.js";
import { filterOver, randomFilters, randomVectors } from "../contract/random-reads.js";
import { holdsFor } from "../contract/seed.js";
import { inMemoryStores } from "../in-memory/in-memory-stores.js";
import type { Stores } from "../stores.js";
import { type QdrantOverInMemory, qdrantOverInMemory } from "./testing/qdrant-over-in-memory.js";

/** Random cases; a memory each, in the same collection. */
const RUNS = 25;
/** 32-bit against 64-bit arithmetic. */
const TOLERANCE = 1e-4;
const TERMS = new Map([
  ["red", 0.31],
  ["sea", 0.2],
  ["none", 0.1],
]);

await describeWithQdrant("Qdrant against the reference", ({ url }) => {
  let tested: QdrantOverInMemory;
  let cases = 0;
  beforeAll(() => {
    tested = qdrantOverInMemory({ url });
  });
  afterAll(async () => {
    await tested.drop();
    await tested.close();
  });
  const reads = fc.record({
    history: histories,
    late: fc.boolean(),
    filters: fc.array(randomFilters, { minLength: 1, maxLength: 3 }),
    vector: randomVectors,
    limit: fc.integer({ min: 1, max: 6 }),
  });

  test("searches are equal at every revision of a random history, with and without points that are late", async () => {
    await holdsFor(RUNS, reads, async ({ history, late, filters, vector, limit }) => {
      cases += 1;
      const scope = { tenant: TENANT, memory: `mem_${cases}` };
      const reference = inMemoryStores();
      await replay(tested, reference, { scope, history, late });
      for (let revision = 0; revision <= history.length; revision += 1) {
        const nodes = await nodesOf(reference, scope, revision);
        for (const filter of filters.map((one) => filterOver(nodes, one))) {
          for (const field of FIELDS) {
            await sameSearches([tested, reference], { scope, revision, field, nodes, filter, vector, limit });
          }
        }
      }
    });
  }, 120_000);
});

/** If any are late, the vectors of every second revision are: searches have to do without them, or wait for nothing. */
async function replay(
  stores: Stores,
  reference: Stores,
  { scope, history, late }: { scope: MemoryScope; history: readonly (readonly Edit[])[]; late: boolean },
): Promise<void> {
  const writer = new HistoryWriter();
  for (const { tree } of [stores, reference]) await tree.createMemory(TENANT, newMemory(scope.memory));
  for (const [index, edits] of history.entries()) {
    const change = writer.next(edits, index === 0 ? [NODE_FIELD] : FIELDS);
    const kept = !late || index % 2 === 0 ? change : { ...change, vectors: [] };
    for (const { tree, lexical } of [stores, reference]) {
      await tree.commit(scope, kept);
      if (index > 0) continue;
      await indexWhole(lexical, scope, "title");
    }
  }
}

async function nodesOf({ tree }: Stores, scope: MemoryScope, revision: number): Promise<readonly NodeKey[]> {
  const steps = [{ axis: "descendant" as const, type: undefined, position: undefined, comparisons: [] }];
  const { rows } = await tree.run(scope, revision, { contexts: "root", steps, values: false });
  return rows.map(({ key }) => key);
}

interface Asked {
  readonly scope: MemoryScope;
  readonly revision: number;
  readonly field: string;
  readonly nodes: readonly NodeKey[];
  readonly filter: NodeFilter;
  readonly vector: Float32Array;
  readonly limit: number;
}

async function sameSearches(stores: readonly [Stores, Stores], asked: Asked): Promise<void> {
  const { scope, revision, field, nodes, filter, vector, limit } = asked;
  const read = { revision, model: MODEL, field };
  const both = async <T>(ask: (stores: Stores) => Promise<T>): Promise<readonly [T, T]> => [
    await ask(stores[0]),
    await ask(stores[1]),
  ];
  sameValues(await both(({ vectors }) => vectors.scores(scope, read, vector, nodes)));
  sameRows(
    await both(async ({ vectors }) => (await vectors.topK(scope, read, vector, filter, { limit, exact: true })).rows),
  );
  const [mine, theirs] = await both(({ vectors }) => vectors.missing(scope, read, { filter }, 1_000));
  expect(mine).toEqual(theirs);
  sameValues(await both(({ lexical }) => lexical.scores(scope, read, TERMS, nodes)));
  sameRows(await both(({ lexical }) => lexical.matches(scope, read, TERMS, filter, { above: 0.1 })));
  sameRows(await both(({ lexical }) => lexical.matches(scope, read, TERMS, filter, { above: 0, limit })));
  sameRows(await both((stores) => hybrid(stores, asked)));
  const [some, same] = await both(({ lexical }) => lexical.statistics(scope, { field }, [...TERMS.keys()]));
  // The reference does not tell which head it counts.
  expect(some).toMatchObject(same);
}

/** The best by both sides: in one search where that is possible, else of all nodes. */
async function hybrid({ vectors, lexical }: Stores, asked: Asked): Promise<readonly ScoredKey[]> {
  const { scope, revision, field, filter, vector, limit } = asked;
  const read = { revision, model: MODEL, field };
  const options = { limit, exact: true };
  const found = await vectors.hybridTopK?.(
    scope,
    read,
    { vector, terms: TERMS, matches: 100, counted: revision, a: 0.4 },
    filter,
    options,
  );
  if (found !== undefined) return found.rows;
  const nearest = await vectors.topK(scope, read, vector, filter, { limit: 1_000, exact: true });
  const matching = await lexical.matches(scope, read, TERMS, filter, { above: 0 });
  const rows = new Map(nearest.rows.map(({ key, value }) => [key.id, { key, value: 0.4 * value }]));
  for (const { key, value } of matching) {
    rows.set(key.id, { key, value: (rows.get(key.id)?.value ?? 0) + 0.6 * value });
  }
  return [...rows.values()].sort((one, other) => other.value - one.value).slice(0, limit);
}

function sameValues([mine, theirs]: readonly [Float64Array, Float64Array]): void {
  expect(mine).toHaveLength(theirs.length);
  for (const [index, value] of mine.entries()) {
    if (Number.isNaN(value)) expect(theirs[index]).toBeNaN();
    else expect(Math.abs(value - theirs[index]!)).toBeLessThan(TOLERANCE);
  }
}

/** Values agree in order; every node before the cut is one that has its value on the other side too. */
function sameRows([mine, theirs]: readonly [readonly ScoredKey[], readonly ScoredKey[]]): void {
  sameValues([Float64Array.from(mine, ({ value }) => value), Float64Array.from(theirs, ({ value }) => value)]);
  const cut = theirs.at(-1)?.value ?? 0;
  for (const { key, value } of mine.filter((row) => row.value > cut + TOLERANCE)) {
    const same = theirs.filter((row) => Math.abs(row.value - value) < TOLERANCE);
    expect(same.map((row) => row.key)).toContainEqual(key);
  }
}
