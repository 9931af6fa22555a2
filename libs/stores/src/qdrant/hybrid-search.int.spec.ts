import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { describeWithQdrant } from "../../../../test/support/qdrant.js";
import { LIMITS, type NodeFilter, roundRelevance } from "#core";
import type { PointSource } from "../distributed/point-ledger.js";
import { MODEL, SCOPE, unit } from "../contract/fixtures.js";
import { holdsFor } from "../contract/seed.js";
import { openQdrant, type QdrantStores } from "./open-qdrant.js";
import { ledgerOfSources } from "./testing/ledger-of-sources.js";

const NODES = 240;
const WORDS = ["red", "green", "blue", "sea", "hill"];
const READ = { revision: 1, model: MODEL, field: "" };
const RUNS = 60;
/** 32-bit against 64-bit arithmetic, and sums of rounded values. */
const TOLERANCE = 4e-6;

await describeWithQdrant("A hybrid search in Qdrant", ({ url }) => {
  const sources = Array.from({ length: NODES }, (_, at) => sourceOf(at));
  let stores: QdrantStores;
  beforeAll(async () => {
    const settings = { url, collectionPrefix: `test-${randomUUID().slice(0, 8)}` };
    stores = openQdrant(settings, ledgerOfSources(MODEL, sources));
    const points = sources.map(({ id, born, field }, at) => ({
      ...{ id, born, field, model: MODEL },
      embedding: { vector: directionOf(at), windowed: false },
    }));
    await stores.vectors.upsert(SCOPE, points);
  }, 60_000);
  afterAll(async () => {
    await stores.points.purge(SCOPE);
    stores.close();
  });

  /** The value of each node that has one, of all cosines and all that the terms are worth. */
  const valuesOf = async (
    { vector, terms, a }: { vector: Float32Array; terms: ReadonlyMap<string, number>; a: number },
    filter: NodeFilter,
  ): Promise<readonly { readonly path: string; readonly value: number }[]> => {
    const nearest = await stores.vectors.topK(SCOPE, READ, vector, filter, { limit: NODES, exact: true });
    const matching = await stores.lexical.matches(SCOPE, READ, terms, filter, { above: 0 });
    const values = new Map<string, number>();
    for (const { key, value } of nearest.rows) values.set(key.pathKey, a * value);
    for (const { key, value } of matching) {
      values.set(key.pathKey, (values.get(key.pathKey) ?? 0) + (1 - a) * value);
    }
    return [...values]
      .map(([path, value]) => ({ path, value: roundRelevance(value) }))
      .sort((one, other) => other.value - one.value || (one.path < other.path ? -1 : 1));
  };

  const asked = fc.record({
    vector: fc.constantFrom(unit(1, 0, 0), unit(-1, 1, 0), unit(1, 1, 1), unit(-1, -1, -1)),
    terms: fc.constantFrom<ReadonlyMap<string, number>>(
      new Map([["red", 0.3]]),
      new Map([
        ["sea", 0.11],
        ["hill", 0.23],
        ["none", 0.1],
      ]),
      new Map([["none", 0.5]]),
    ),
    a: fc.double({ min: 0.05, max: 0.95, noNaN: true }),
    filter: fc.constantFrom<NodeFilter>(
      { scope: { kind: "descendants", of: [""] } },
      { type: "Turn", scope: { kind: "descendants", of: ["a1", "a4"] } },
      { scope: { kind: "children", of: ["nod_a2"] } },
    ),
    limit: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: NODES })),
  });

  test("gives the nodes and values that both sides give together, ties and cosines below zero included", async () => {
    await holdsFor(RUNS, asked, async ({ filter, limit, ...condition }) => {
      // As few as there can be: all that have a term are found all the same.
      const matches = sources.filter(({ text }) => text.split(" ").some((word) => condition.terms.has(word))).length;
      const found = await stores.vectors.hybridTopK(
        SCOPE,
        READ,
        { ...condition, matches, counted: READ.revision },
        filter,
        {
          limit,
          exact: true,
        },
      );
      const wanted = await valuesOf(condition, filter);
      const rows = found!.rows.map(({ key, value }) => ({ path: key.pathKey, value }));
      expect(rows).toHaveLength(Math.min(limit, wanted.length));
      const known = new Map(wanted.map(({ path, value }) => [path, value]));
      for (const [index, { path, value }] of rows.entries()) {
        expect(Math.abs(value - wanted[index]!.value)).toBeLessThan(TOLERANCE);
        expect(Math.abs(value - known.get(path)!)).toBeLessThan(TOLERANCE);
        const next = rows[index + 1];
        if (next !== undefined) expect(value > next.value || (value === next.value && path < next.path)).toBe(true);
      }
    });
  }, 120_000);

  test("is left to the searches of each side where very many nodes have the terms, or it is not known how many", async () => {
    const condition = { vector: unit(1, 0, 0), terms: new Map([["red", 0.3]]), a: 0.4 };
    const ask = (matches: number, counted = READ.revision) =>
      stores.vectors.hybridTopK(SCOPE, READ, { ...condition, matches, counted }, EVERYTHING, { limit: 3, exact: true });
    expect(await ask(LIMITS.hybridMatches)).toBeDefined();
    expect(await ask(LIMITS.hybridMatches + 1)).toBeUndefined();
    // What another head has says nothing about this revision.
    expect(await ask(1, READ.revision + 1)).toBeUndefined();
  });
});

const EVERYTHING: NodeFilter = { scope: { kind: "descendants", of: [""] } };

/** Six branches; few words and few directions, so that many nodes are worth the same. */
function sourceOf(at: number): PointSource {
  const branch = `a${at % 6}`;
  const words = [at % 5, at % 3, at % 2].map((index) => WORDS[index]);
  return {
    ...{ id: `nod_${at}`, born: 1, field: "", type: at % 4 === 0 ? "Session" : "Turn" },
    ...{ parentId: `nod_${branch}`, pathKey: `${branch}.b${at}`, depth: 2, text: words.join(" ") },
  };
}

function directionOf(at: number): Float32Array {
  const sign = (by: number): number => (Math.floor(at / by) % 3) - 1;
  return unit(sign(1) || 1, sign(3), sign(9));
}
