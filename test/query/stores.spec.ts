/** The whole of a query but its scorer: parsed text, plan, evaluator and a real store, against the naive reading. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { randomId, type MemoryScope } from "#core";
import { evaluate, parse, plan, print, type Query, type StructureSource } from "#query";
import { inMemoryStores, openStores, type Stores } from "#stores";
import { ArrayRelevanceSource } from "./support/array-sources.js";
import { naiveEvaluate } from "./support/naive-evaluate.js";
import { randomChains, randomQuery } from "./support/random-query.js";
import { randomTrees, TREE_WORDS } from "./support/random-tree.js";
import { hashedRelevance, textOf } from "./support/relevance-function.js";
import { holdsFor } from "./support/seed.js";
import { descendantsOf, plantTrees, type TestNode } from "./support/tree.js";

const TENANT = "default";
/** Queries asked of one random tree. */
const QUERIES = 20;

let folder = "";
const opened = new Map<string, Stores>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "espalier-query-"));
  opened.set("sqlite", openStores({ folder }));
  opened.set("in-memory", inMemoryStores());
});

afterAll(async () => {
  for (const stores of opened.values()) await stores.close();
  await rm(folder, { recursive: true, force: true });
});

/** A memory with exactly the nodes of a tree, under the ids and path keys that the tree has. */
const store = async ({ tree }: Stores, root: TestNode): Promise<MemoryScope> => {
  const { id: memory } = await tree.createMemory(TENANT, {
    ...{ id: randomId("mem"), name: "random", labels: {}, structure: "artifact", templates: {}, createdAt: 0 },
    ...{ embeddingModel: "none", scoring: { scorer: "lexical", a: 0.4, entailmentTemplate: "{}" } },
  });
  const scope = { tenant: TENANT, memory };
  const states = descendantsOf(root).map(({ key, attributes, metadata }) => ({
    ...{ id: key.id, type: key.type, parentId: key.parentId, pathKey: key.pathKey, depth: key.depth },
    ...{ attributes, metadata, text: textOf({ attributes }, "") ?? "", tokens: 1 },
  }));
  await tree.commit(scope, {
    ...{ baseRevision: 0, inbox: { job: randomId("job"), step: "all" }, message: "", author: "", time: 0 },
    ...{ states, ends: [], vectors: [], terms: [], result: null },
  });
  return scope;
};

const cases = (query: fc.Arbitrary<Query>) =>
  fc.record({ trees: randomTrees(4), queries: fc.array(query, { minLength: QUERIES, maxLength: QUERIES }) });

describe.each(["sqlite", "in-memory"])("evaluation over %s stores", (name) => {
  test.each([
    ["random queries", 60, randomQuery(TREE_WORDS, 1)],
    ["nested queries", 40, randomQuery(TREE_WORDS, 2)],
    ["paths with several ways", 30, randomChains(TREE_WORDS)],
  ])(
    "equals the naive reading on %s",
    async (_, trees, query) => {
      const stores = opened.get(name)!;
      await holdsFor(trees, cases(query), async ({ trees: planted, queries }) => {
        const root = plantTrees(planted);
        const scope = await store(stores, root);
        const structure: StructureSource = {
          run: (run) => stores.tree.run(scope, 1, run),
          evidence: (request) => stores.tree.evidence(scope, 1, request),
        };
        for (const one of queries) {
          const relevance = new ArrayRelevanceSource(root, { pushesDown: false });
          const { ast } = parse(print(one));
          const { rows } = await evaluate(plan(ast), { structure, relevance }, { topK: 50 });
          const expected = naiveEvaluate(one, root, hashedRelevance, { topK: 50 });
          expect([print(one), ...rows.map(({ key, score }) => `${key.id} ${score}`)]).toEqual([
            print(one),
            ...expected.map(({ node, score }) => `${node.key.id} ${score}`),
          ]);
        }
      });
    },
    120_000,
  );
});
