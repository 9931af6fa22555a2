import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { describeWithQdrant } from "../../../../test/support/qdrant.js";
import type { NodeFilter } from "#core";
import type { ScoredKey } from "#scoring";
import type { PointSource } from "../distributed/point-ledger.js";
import { MODEL, SCOPE } from "../contract/fixtures.js";
import { openQdrant, type QdrantStores } from "./open-qdrant.js";
import { clusteredVectors } from "./testing/clustered-vectors.js";
import { ledgerOfSources } from "./testing/ledger-of-sources.js";

const DIMENSION = 384;
const K = 10;
const READ = { revision: 1, model: MODEL, field: "" };
const FILTERS: readonly NodeFilter[] = [
  { scope: { kind: "descendants", of: [""] } },
  { type: "Turn", scope: { kind: "descendants", of: [""] } },
  { type: "Turn", scope: { kind: "descendants", of: Array.from({ length: 5 }, (_, at) => `a${at}`) } },
];

await describeWithQdrant("Qdrant's index", ({ url, real }) => {
  // The front looks at every point of every query, without an index: a few do there.
  const [nodes, queries] = real ? [20_000, 40] : [200, 3];
  const vectors = clusteredVectors(7, { count: nodes + queries, dimension: DIMENSION, clusters: 200 });
  let stores: QdrantStores;
  beforeAll(async () => {
    const sources = Array.from({ length: nodes }, (_, at) => sourceOf(at));
    const settings = { url, collectionPrefix: `test-${randomUUID().slice(0, 8)}`, exactBelow: 10 };
    stores = openQdrant(settings, ledgerOfSources(MODEL, sources));
    const points = sources.map(({ id, born, field }, at) => ({
      ...{ id, born, field, model: MODEL },
      embedding: { vector: vectors[at]!, windowed: false },
    }));
    await stores.vectors.upsert(SCOPE, points);
  }, 180_000);
  afterAll(async () => {
    await stores.points.purge(SCOPE);
    stores.close();
  });

  const nearest = async (vector: Float32Array, filter: NodeFilter, exact: boolean): Promise<readonly ScoredKey[]> => {
    const found = await stores.vectors.topK(SCOPE, READ, vector, filter, { limit: K, exact });
    expect(found.approximate).toBe(!exact);
    return found.rows;
  };

  test.each(FILTERS)(
    "finds .98 of the true nearest of %j, with their values",
    async (filter) => {
      let shared = 0;
      for (const vector of vectors.slice(nodes)) {
        const truth = new Map((await nearest(vector, filter, true)).map(({ key, value }) => [key.id, value]));
        expect(truth.size).toBe(K);
        for (const { key, value } of await nearest(vector, filter, false)) {
          const known = truth.get(key.id);
          if (known === undefined) continue;
          shared += 1;
          expect(Math.abs(known - value)).toBeLessThan(1e-4);
        }
      }
      expect(shared / (queries * K)).toBeGreaterThanOrEqual(0.98);
    },
    120_000,
  );
});

/** Ten branches; every fourth node is of another type. */
function sourceOf(at: number): PointSource {
  const branch = `a${at % 10}`;
  return {
    id: `nod_${at}`,
    born: 1,
    field: "",
    type: at % 4 === 0 ? "Session" : "Turn",
    parentId: `nod_${branch}`,
    pathKey: `${branch}.b${at}`,
    depth: 2,
    text: `word${at % 1_000} and word${at % 77}`,
  };
}
