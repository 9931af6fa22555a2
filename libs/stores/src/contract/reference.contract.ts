import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type MemoryScope, NODE_FIELD, type NodeState } from "#core";
import { inMemoryStores } from "../in-memory/in-memory-stores.js";
import type { Stores } from "../stores.js";
import { idsOf, indexWhole, MODEL, newMemory, type OpenEmpty, TENANT } from "./fixtures.js";
import { type Edit, FIELDS, HistoryWriter, histories } from "./random-history.js";
import { filterOver, randomFilters, randomPaths, randomRuns, randomVectors, runOver } from "./random-reads.js";
import { holdsFor } from "./seed.js";

/** Random histories; each makes a memory of its own in the same stores. */
const HISTORIES = 60;

/** Every read, at every revision of random histories, answers what the in-memory reference answers. */
export function describeAgainstReference(name: string, open: OpenEmpty, cases = HISTORIES): void {
  describe(`${name}: against the reference`, () => {
    let tested: Stores;
    let memories = 0;
    beforeAll(async () => {
      tested = await open();
    });
    afterAll(() => tested.close());
    const reads = fc.record({
      history: histories,
      runs: fc.array(randomRuns, { minLength: 1, maxLength: 12 }),
      paths: randomPaths,
      filters: fc.array(randomFilters, { minLength: 1, maxLength: 4 }),
      vector: randomVectors,
      limit: fc.integer({ min: 1, max: 6 }),
    });

    test("runs, evidence, nodes and searches are equal at every revision of a random history", async () => {
      await holdsFor(cases, reads, async (of) => {
        memories += 1;
        const scope = { tenant: TENANT, memory: `mem_${memories}` };
        const reference = inMemoryStores();
        await replay([tested, reference], scope, of.history);
        for (let revision = 0; revision <= of.history.length; revision += 1) {
          for (const read of allReads({ ...of, scope, revision })) {
            expect(await read(tested)).toEqual(about(await read(reference)));
          }
        }
      });
    });
  });
}

/** Commits a history to several stores; the second field is indexed after the first revision. Reads come in between. */
async function replay(
  stores: readonly Stores[],
  scope: MemoryScope,
  history: readonly (readonly Edit[])[],
): Promise<void> {
  const writer = new HistoryWriter();
  for (const { tree } of stores) await tree.createMemory(TENANT, newMemory(scope.memory));
  for (const [index, edits] of history.entries()) {
    const change = writer.next(edits, index === 0 ? [NODE_FIELD] : FIELDS);
    const vector = Float32Array.of(1, 0, 0);
    for (const { tree, lexical, vectors } of stores) {
      await tree.commit(scope, change);
      const read = { revision: index + 1, model: MODEL, field: NODE_FIELD };
      // A reader that is up to date now has to catch up with the next revision.
      await vectors.topK(scope, read, vector, { scope: { kind: "descendants", of: [""] } }, { limit: 3, exact: true });
      if (index > 0) continue;
      await indexWhole(lexical, scope, "title");
    }
  }
}

type Read = (stores: Stores) => Promise<unknown>;

interface Asked {
  readonly scope: MemoryScope;
  readonly revision: number;
  readonly runs: readonly Parameters<typeof runOver>[1][];
  readonly paths: Parameters<Stores["tree"]["evidence"]>[2]["paths"];
  readonly filters: readonly Parameters<typeof filterOver>[1][];
  readonly vector: Float32Array;
  readonly limit: number;
}

function allReads(asked: Asked): readonly Read[] {
  return [...treeReads(asked), ...searches(asked)];
}

/** All nodes at the revision that is read. */
async function nodesOf({ tree }: Stores, { scope, revision }: Asked): Promise<readonly NodeState[]> {
  const steps = [{ axis: "descendant" as const, type: undefined, position: undefined, comparisons: [] }];
  const { rows } = await tree.run(scope, revision, { contexts: "root", steps, values: false });
  return tree.nodes(
    scope,
    revision,
    rows.map(({ key }) => key.id),
  );
}

function treeReads(asked: Asked): readonly Read[] {
  const { scope, revision, runs, paths, limit } = asked;
  return [
    (stores) => nodesOf(stores, asked),
    ...runs.map((run): Read => async (stores) => {
      const found = await stores.tree.run(scope, revision, runOver(await nodesOf(stores, asked), run));
      return found.rows;
    }),
    async (stores) => {
      const nodes = await nodesOf(stores, asked);
      const contexts = nodes.filter((_, index) => index % 2 === 0).map(({ id, pathKey }) => ({ id, pathKey }));
      return (await stores.tree.evidence(scope, revision, { contexts, paths, values: true })).rows;
    },
    async (stores) => stores.tree.paths(scope, revision, idsOf(await nodesOf(stores, asked))),
    async (stores) => {
      const ids = idsOf(await nodesOf(stores, asked));
      const some = ids.filter((_, index) => index % 3 === 0);
      return stores.tree.subtrees(scope, revision, ["nod_unknown", ...some], limit * 2);
    },
    async (stores) => {
      const parents = [null, ...idsOf(await nodesOf(stores, asked)), "nod_unknown"];
      return Promise.all(parents.map((parent) => stores.tree.children(scope, revision, parent, { limit })));
    },
    async (stores) => {
      const parents = [null, ...idsOf(await nodesOf(stores, asked)), "nod_unknown"];
      return Promise.all(parents.map((parent) => stores.tree.lastChild(scope, parent)));
    },
    async (stores) => stores.tree.findChild(scope, null, { type: "A", name: "title", value: "red" }),
    async (stores) => stores.tree.scan(scope, { limit }),
    async (stores) => stores.tree.getMemory(scope),
    async (stores) => stores.tree.schema(scope),
  ];
}

function searches(asked: Asked): readonly Read[] {
  const { scope, revision, filters, vector, limit } = asked;
  const terms = new Map([
    ["red", 0.31],
    ["sea", 0.2],
    ["none", 0.1],
  ]);
  const everyFilter = (ask: (stores: Stores, filter: ReturnType<typeof filterOver>) => Promise<unknown>): Read[] =>
    filters.map((filter) => async (stores) => ask(stores, filterOver(await nodesOf(stores, asked), filter)));
  return FIELDS.flatMap((field): readonly Read[] => {
    const read = { revision, model: MODEL, field };
    return [
      async (stores) => [...(await stores.vectors.scores(scope, read, vector, await nodesOf(stores, asked)))],
      ...everyFilter(({ vectors }, filter) => vectors.topK(scope, read, vector, filter, { limit, exact: true })),
      ...everyFilter(async ({ vectors }, filter) => {
        const missing = await vectors.missing(scope, read, { filter }, 1_000);
        return missing.map(({ id, born, text }) => [id, born, text]).sort();
      }),
      async ({ lexical }) => {
        const { documents, frequencies } = await lexical.statistics(scope, { field }, ["red", "sea", "none"]);
        return { documents, frequencies };
      },
      ...(field === NODE_FIELD || revision > 0
        ? [
            async (stores: Stores) => [
              ...(await stores.lexical.scores(scope, read, terms, await nodesOf(stores, asked))),
            ],
            ...everyFilter(({ lexical }, filter) => lexical.matches(scope, read, terms, filter, { above: 0.1 })),
            ...everyFilter(({ lexical }, filter) => lexical.matches(scope, read, terms, filter, { above: 0, limit })),
          ]
        : []),
    ];
  });
}

/** A value as it is expected of a store that computes in another order or with fewer bits: numbers to a hundred-thousandth. */
function about(value: unknown): unknown {
  if (typeof value === "number") return Number.isNaN(value) ? value : expect.closeTo(value, 5);
  if (Array.isArray(value)) return value.map(about);
  if (value === null || typeof value !== "object" || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, about(of)]));
}
