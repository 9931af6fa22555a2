/** The same answer everywhere: one suite asks both profiles and compares rows and scores. */
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { parseConfig, randomId, systemClock, type MemoryScope } from "#core";
import { queryPayload } from "#jobs";
import { Inserter, Reader, WriteQueue, type EmbeddingModels, type MemoryServices, type QueryResult } from "#memory";
import { openEmbeddingModels } from "#models";
import { print, type Query } from "#query";
import { Embedder, embeddingProcessCache } from "#scoring";
import { openStores, type Stores } from "#stores";
import { BagOfWordsModel } from "../../libs/memory/src/testing/bag-of-words-model.js";
import { randomQuery } from "../query/support/random-query.js";
import { randomTrees, TREE_WORDS } from "../query/support/random-tree.js";
import { holdsFor } from "../query/support/seed.js";
import type { TestTree } from "../query/support/tree.js";
import { describeDistributed } from "../support/distributed.js";

jest.setTimeout(600_000);

const TENANT = "default";
const EXAMPLES = ["acl-trip", "todo-list", "meal-plan"] as const;
const SCORERS = ["similarity", "lexical", "hybrid"] as const;
/** Scores that differ by less are the same: vectors and weights are 32-bit numbers in Qdrant. */
const SAME = 1e-4;
/** A geometric mean of small values multiplies what the rounding of each (1e-6) leaves: its slope near 0 is steep. */
const SAME_MEAN = { below: 0.1, within: 2e-3 };
/** Random trees, and queries asked of each: 500 in all. */
const TREES = 25;
const QUERIES = 20;

/** One profile with a model, ready to be asked. */
class Profile {
  readonly #reader: Reader;
  readonly #inserter: Inserter;

  constructor(
    readonly stores: Stores,
    private readonly models: EmbeddingModels,
  ) {
    const services: MemoryServices = {
      ...{ tree: stores.tree, vectors: stores.vectors, lexical: stores.lexical, caches: stores.caches },
      ...(stores.apart !== undefined && { apart: stores.apart }),
      ...{ embeddingModels: models, clock: systemClock },
    };
    this.#reader = new Reader(services);
    this.#inserter = new Inserter(services, new WriteQueue());
  }

  /** A memory with a tree. The ids of its nodes follow from the job, so that they are the same in both profiles. */
  async plant(memory: string, tree: unknown, jobId: string): Promise<void> {
    await this.stores.tree.createMemory(TENANT, {
      ...{ id: memory, name: memory, labels: {}, structure: "artifact", templates: {}, createdAt: 1 },
      ...{ embeddingModel: this.models.default, scoring: { scorer: "hybrid", a: 0.4, entailmentTemplate: "{}" } },
    });
    await this.#inserter.insert(scopeOf(memory), { tree }, { jobId, time: 1, author: "test" });
  }

  query(memory: string, request: object): Promise<QueryResult> {
    return this.#reader.query(scopeOf(memory), queryPayload.parse(request), {});
  }
}

const scopeOf = (memory: string): MemoryScope => ({ tenant: TENANT, memory });

/** Rows in ranks that are alike up to rounding: nodes whose scores are the same may change places. */
function expectSame(asked: string, one: QueryResult, other: QueryResult): void {
  const sameAt = (score: number): number =>
    asked.includes("gmean(") && score < SAME_MEAN.below ? SAME_MEAN.within : SAME;
  const scores = ({ rows }: QueryResult): readonly number[] => rows.map(({ score }) => score);
  expect([asked, one.rows.length]).toEqual([asked, other.rows.length]);
  for (const [index, score] of scores(one).entries()) {
    expect({ asked, off: Math.abs(score - (scores(other)[index] ?? Infinity)) > sameAt(score) }).toEqual({
      asked,
      off: false,
    });
  }
  // The last score may be shared with nodes that were cut.
  const last = one.rows.at(-1)?.score ?? 0;
  const sure = ({ rows }: QueryResult): readonly string[] =>
    rows.filter(({ score }) => score > last + sameAt(last)).map(({ id }) => id);
  const byId = (result: QueryResult): ReadonlyMap<string, QueryResult["rows"][number]> =>
    new Map(result.rows.map((row) => [row.id, row]));
  expect([asked, ...[...sure(one)].sort()]).toEqual([asked, ...[...sure(other)].sort()]);
  for (const id of sure(one)) {
    const [left, right] = [byId(one).get(id), byId(other).get(id)];
    expect({ ...left, score: 0, evidence: undefined }).toEqual({ ...right, score: 0, evidence: undefined });
    expect(Math.abs((left?.score ?? 0) - (right?.score ?? 0))).toBeLessThan(sameAt(left?.score ?? 0));
  }
}

/** Embeds and stores what every outbox row asks for, as score workers would. */
async function relayAll(profile: Profile, models: EmbeddingModels): Promise<void> {
  const { outbox, points } = profile.stores.apart!;
  for (;;) {
    const claim = { id: randomId("job"), rows: 64, tokens: 100_000, leaseMs: 60_000 };
    await outbox.claim(TENANT, claim);
    const rows = await outbox.claimed(claim.id, claim.leaseMs);
    if (rows.length === 0) return;
    const embedder = await models.get(models.default);
    for (const [memory, own] of Map.groupBy(rows, ({ scope }) => scope.memory)) {
      const vectors = own.filter(({ task }) => task === "vector");
      const { embeddings } = await embedder.embed(vectors.map(({ text }) => text));
      const stored = vectors.map(({ id, born, field, model }, at) => ({
        id,
        born,
        field,
        model,
        embedding: embeddings[at]!,
      }));
      await profile.stores.vectors.upsert(scopeOf(memory), stored);
      const ended = own.filter(({ task }) => task === "payload");
      if (ended.length > 0) await points.refresh(scopeOf(memory), models.default, ended);
    }
  }
}

function bagOfWords(): EmbeddingModels {
  const model = new BagOfWordsModel();
  const embedder = new Embedder(model, { processCache: embeddingProcessCache(), now: () => performance.now() });
  return { default: model.id, get: () => Promise.resolve(embedder) };
}

await describeDistributed("the embedded and the distributed profile", (servers) => {
  let folder = "";
  const opened: Stores[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "espalier-profiles-"));
  });
  afterAll(async () => {
    for (const stores of opened) await stores.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function openBoth(models: EmbeddingModels, name: string): Promise<{ embedded: Profile; distributed: Profile }> {
    const [embedded, distributed] = [openStores({ folder: join(folder, name) }), await servers.open()];
    opened.push(embedded, distributed);
    return { embedded: new Profile(embedded, models), distributed: new Profile(distributed, models) };
  }

  describe("with the model that ships", () => {
    let models: EmbeddingModels;
    let both: { embedded: Profile; distributed: Profile };
    const memories = new Map<string, string>(EXAMPLES.map((name) => [name, randomId("mem")]));
    beforeAll(async () => {
      const { embedding, modelsFolder } = parseConfig({});
      models = await openEmbeddingModels(embedding, { modelsFolder, now: () => performance.now() });
      both = await openBoth(models, "examples");
      for (const [name, memory] of memories) {
        const { tree } = JSON.parse(await readFile(`examples/${name}.json`, "utf8")) as { readonly tree: unknown };
        const job = randomId("job");
        await both.embedded.plant(memory, tree, job);
        await both.distributed.plant(memory, tree, job);
      }
    });

    const askAll = async (): Promise<number> => {
      let asked = 0;
      for (const [name, memory] of memories) {
        for (const request of await exampleQueries(name)) {
          for (const scorer of SCORERS) {
            const body = { topK: 10, ...request, scorer };
            const [one, other] = [await both.embedded.query(memory, body), await both.distributed.query(memory, body)];
            expectSame(`${name}: ${request.query} by ${scorer}`, one, other);
            asked += 1;
          }
        }
      }
      return asked;
    };

    test("answer every example query alike while vectors still wait, which the query then computes", async () => {
      const { outbox } = both.distributed.stores.apart!;
      expect((await outbox.backlog(10)).map(({ tenant }) => tenant)).toEqual([TENANT]);
      expect(await askAll()).toBeGreaterThanOrEqual(3 * 60);
    });

    test("and when workers have stored them all, after which the stores have the same points", async () => {
      await relayAll(both.distributed, models);
      expect(await both.distributed.stores.apart!.outbox.backlog(10)).toEqual([]);
      expect(await askAll()).toBeGreaterThanOrEqual(3 * 60);
      for (const memory of memories.values()) {
        const { fingerprint, pending } = await both.distributed.stores.apart!.outbox.expectation(
          scopeOf(memory),
          models.default,
        );
        expect(pending).toBe(0);
        expect(await both.distributed.stores.vectors.fingerprint(scopeOf(memory), models.default)).toEqual(fingerprint);
      }
    });
  });

  test("answer random queries on random trees alike", async () => {
    const models = bagOfWords();
    const { embedded, distributed } = await openBoth(models, "random");
    const cases = fc.record({
      trees: randomTrees(3),
      queries: fc.array(randomQuery(TREE_WORDS, 1), { minLength: QUERIES, maxLength: QUERIES }),
      scorer: fc.constantFrom(...SCORERS),
      waits: fc.boolean(),
    });
    await holdsFor(TREES, cases, async ({ trees, queries, scorer, waits }) => {
      const [memory, job] = [randomId("mem"), randomId("job")];
      const tree = trees.map(insertable);
      await embedded.plant(memory, tree, job);
      await distributed.plant(memory, tree, job);
      if (!waits) await relayAll(distributed, models);
      for (const query of queries.map((each: Query) => print(each))) {
        const body = { query, scorer, topK: 20, validate: false };
        expectSame(query, await embedded.query(memory, body), await distributed.query(memory, body));
      }
    });
  });
});

/** The queries of the demo and of the requests on a memory. */
async function exampleQueries(name: string): Promise<readonly { readonly query: string }[]> {
  const read = async (path: string): Promise<unknown> => JSON.parse(await readFile(path, "utf8"));
  const demo = (await read("examples/demo-queries.json")) as readonly { readonly memory: string; query: string }[];
  const { requests } = (await read(`bench/requests/${name}.json`)) as {
    readonly requests: readonly { query: string }[];
  };
  return [...demo.filter(({ memory }) => memory === name), ...requests].map(({ query }) => ({ query }));
}

function insertable({ type, attributes, metadata, children }: TestTree): object {
  return { type, attributes, metadata, children: children.map(insertable) };
}
