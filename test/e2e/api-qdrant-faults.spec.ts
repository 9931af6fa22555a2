/** What a caller of the API is answered while Qdrant is in trouble, and that the same request succeeds when it is over. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { LIMITS, systemClock } from "#core";
import { Reader, type MemoryServices, type QueryRequest } from "#memory";
import { Embedder, embeddingProcessCache } from "#scoring";
import { change, MODEL, newMemory, SCOPE, state } from "../../libs/stores/src/contract/fixtures.js";
import {
  type QdrantOverInMemory,
  qdrantOverInMemory,
} from "../../libs/stores/src/qdrant/testing/qdrant-over-in-memory.js";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import { type FaultyProxy, startFaultyProxy } from "../support/faulty-proxy.js";
import { startQdrant, type TestQdrant } from "../support/qdrant.js";

const CALL_MS = 300;

const started = await startQdrant();
if ("skipped" in started)
  describe.skip("queries while Qdrant is in trouble", () => {
    inTrouble(undefined as never);
  });
else
  describe("queries while Qdrant is in trouble", () => {
    inTrouble(started);
  });

function inTrouble(server: TestQdrant): void {
  let proxy: FaultyProxy;
  let stores: QdrantOverInMemory;
  let bench: ApiBench;
  let memory: string;

  beforeAll(async () => {
    proxy = await startFaultyProxy(server.url);
    stores = qdrantOverInMemory({ url: proxy.url, callTimeoutMs: CALL_MS });
    await stores.tree.createMemory(SCOPE.tenant, newMemory(SCOPE.memory));
    await stores.tree.commit(SCOPE, change(0, { states: [state("a0", "Topic"), state("a1", "Topic")] }));
    const reader = new Reader(servicesOf(stores));
    bench = await openApiBench({
      handlers: {
        query: async (payload, { id }) => ({
          job: id,
          ...(await reader.query(SCOPE, payload as QueryRequest)),
          timings: { queuedMs: 0, runMs: 0 },
        }),
      },
    });
    memory = await bench.client.memory();
  });
  afterAll(async () => {
    await bench.close();
    await stores.close();
    await proxy.close();
    await server.close();
  });

  const ask = (query: string): ReturnType<ApiBench["client"]["query"]> =>
    bench.client.query(memory, { query, scorer: "similarity" });

  test("a store that is slow is a 503 that says so and when to come again; then the same query is answered", async () => {
    expect((await ask('//Topic[node~="one"]')).body["rows"]).toHaveLength(2);
    proxy.meet(() => "silence");
    const slow = await ask('//Topic[node~="one"]');
    expect([slow.status, slow.body.code]).toEqual([503, "store_unavailable"]);
    expect(slow.body.detail).toContain(`no answer within ${CALL_MS} ms`);
    expect(Number(slow.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await ask("//Topic")).body["rows"]).toHaveLength(2);
    proxy.meet(() => undefined);
    expect((await ask('//Topic[node~="one"]')).body["rows"]).toHaveLength(2);
  });
}

function servicesOf({ tree, vectors, lexical, caches, apart }: QdrantOverInMemory): MemoryServices {
  const embedding = { vector: Float32Array.of(0.6, 0.8), windowed: false };
  const embedder = new Embedder(
    {
      ...{ id: MODEL, dimension: 2, maxTokens: LIMITS.modelBatchTokens, countTokens: (text) => text.length },
      embed: async (texts) => texts.map(() => embedding),
    },
    { processCache: embeddingProcessCache(), now: () => performance.now() },
  );
  return {
    ...{ tree, vectors, lexical, caches, clock: systemClock },
    ...(apart !== undefined && { apart }),
    embeddingModels: { default: MODEL, get: async () => embedder },
  };
}
