import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { NodeFilter } from "#core";
import type { LexicalScores, VectorScores } from "../ports.js";
import { ListedSources, type ListedNode } from "../testing/listed-sources.js";
import { HybridScorer } from "./hybrid.js";
import { LexicalScorer } from "./lexical.js";
import type { Scorer } from "./scorer.js";
import { SimilarityScorer } from "./similarity.js";

const run = { now: (): number => 0 };

// Few words make many equal texts, and so the ties that a cut must get right; more make many different values.
const FEW = ["poster", "talk", "hotel", "beach", "the", "soup", "workshop"];
const MANY = [...FEW, ...Array.from({ length: 40 }, (_, index) => `word${index}`)];
const textOf = (words: readonly string[]): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...words), { maxLength: 6, size: "max" }).map((chosen) => chosen.join(" "));

/** A memory, large against the neighbours that a search asks for, or small; and a condition in its words. */
const subject = fc.constantFrom(FEW, MANY).chain((words) =>
  fc.record({
    text: textOf(words),
    memory: fc.array(
      fc.record({ text: textOf(words), name: fc.option(textOf(words)), type: fc.constantFrom("Day", "POI", "POI") }),
      { minLength: 1, maxLength: 150, size: "max" },
    ),
  }),
);

const nodesOf = (memory: readonly { text: string; name: string | null; type: string }[]): readonly ListedNode[] =>
  memory.map((node, index) => ({
    key: {
      id: `nod_${index}`,
      born: 1,
      type: node.type,
      parentId: null,
      // Position keys are strings: a10 sorts before a2, so index order is not document order.
      pathKey: `a${index}`,
      depth: 1,
    },
    texts: { "": node.text, ...(node.name !== null && { name: node.name }) },
  }));

/** Every node of the filter scored, sorted and cut. */
async function exhaustive(scorer: Scorer, sources: ListedSources, request: Parameters<Scorer["topK"]>[0]) {
  const candidates = sources.inside(request.filter).map(({ key }) => key);
  const { values } = await scorer.relevance({ field: request.field, text: request.text, candidates });
  return candidates
    .map((key, index) => ({ id: key.id, pathKey: key.pathKey, value: values[index]! }))
    .filter(({ value }) => value > 0)
    .sort((left, right) => right.value - left.value || (left.pathKey < right.pathKey ? -1 : 1))
    .slice(0, request.limit)
    .map(({ id, value }) => ({ id, value }));
}

const share = fc.oneof(fc.constantFrom(0, 0.4, 0.5, 1), fc.double({ min: 0.000001, max: 0.999999, noNaN: true }));

const request = fc.record({
  field: fc.constantFrom("", "", "name", "absent"),
  type: fc.option(fc.constantFrom("Day", "POI")),
  limit: fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 8 }) }, fc.integer({ min: 1, max: 160 })),
});

test.each([
  ["similarity", (sources: ListedSources) => new SimilarityScorer(sources, run)],
  ["lexical", (sources: ListedSources) => new LexicalScorer(sources, run)],
  ["hybrid", (sources: ListedSources, a: number) => new HybridScorer({ ...parts(sources), a }, run)],
])("the top k of %s equal those of scoring every node, ties and missing vectors included", async (_, scorerOf) => {
  await fc.assert(
    fc.asyncProperty(
      subject,
      request,
      share,
      fc.integer({ min: 1, max: 4 }),
      async ({ memory, text }, asked, a, every) => {
        const nodes = nodesOf(memory);
        const embedded = ({ key }: ListedNode): boolean => Number(key.id.slice(4)) % every === 0;
        const [searched, listed] = [new ListedSources(nodes, { embedded }), new ListedSources(nodes, { embedded })];
        const filter: NodeFilter = {
          ...(asked.type !== null && { type: asked.type }),
          scope: { kind: "descendants", of: [""] },
        };
        const full = { field: asked.field, text, limit: asked.limit, exact: true, filter };
        const { rows } = await scorerOf(searched, a).topK(full);
        expect(rows.map(({ key, value }) => ({ id: key.id, value }))).toEqual(
          await exhaustive(scorerOf(listed, a), listed, full),
        );
      },
    ),
    { numRuns: 400 },
  );
});

const bestOf = async (sources: ReturnType<typeof knownSources>): Promise<readonly string[]> => {
  const filter: NodeFilter = { scope: { kind: "descendants", of: [""] } };
  const { rows } = await new HybridScorer({ ...sources, a: 0.5 }, run).topK({
    ...{ field: "", text: "red", filter },
    limit: 1,
    exact: true,
  });
  return rows.map(({ key }) => key.id);
};

const many = (name: string, count: number, of: { readonly cosine: number; readonly terms: number }) =>
  Array.from({ length: count }, (_, index) => ({ id: `${name}${index}`, ...of }));

test("hybrid finds a node that is among the best of neither side", async () => {
  const sources = knownSources([
    ...many("near", 40, { cosine: 0.8, terms: 0 }),
    ...many("worded", 80, { cosine: 0, terms: 0.9 }),
    { id: "both", cosine: 0.7, terms: 0.7 },
  ]);
  expect(await bestOf(sources)).toEqual(["both"]);
  expect(sources.asked).toHaveLength(2);
});

test("hybrid asks for the terms once when no other node can be lifted by them", async () => {
  const all = knownSources([...many("near", 40, { cosine: 0.9, terms: 0 }), { id: "both", cosine: 0.8, terms: 0.8 }]);
  expect(await bestOf(all)).toEqual(["both"]);
  expect(all.asked).toHaveLength(1);
  const enough = knownSources([
    ...many("near", 40, { cosine: 0.2, terms: 0 }),
    ...many("worded", 40, { cosine: 0, terms: 0.1 }),
    { id: "both", cosine: 0.8, terms: 0.8 },
  ]);
  expect(await bestOf(enough)).toEqual(["both"]);
  expect(enough.asked).toHaveLength(1);
});

/** Nodes of which is known what either side says: cosine and share of the terms. */
function knownSources(values: readonly { readonly id: string; readonly cosine: number; readonly terms: number }[]) {
  const { embedder } = new ListedSources([]);
  const keyOf = (id: string) => ({ id, born: 1, type: "POI", parentId: null, pathKey: id, depth: 1 });
  const by = (side: "cosine" | "terms", least: number) =>
    values
      .map((node) => ({ key: keyOf(node.id), value: node[side] }))
      .filter(({ value }) => value > least)
      .sort((left, right) => right.value - left.value || (left.key.pathKey < right.key.pathKey ? -1 : 1));
  const of = (side: "cosine" | "terms", states: readonly { readonly id: string }[]) =>
    Float64Array.from(states, ({ id }) => values.find((node) => node.id === id)?.[side] ?? 0);
  const asked: Parameters<LexicalScores["matches"]>[3][] = [];
  const vectors: VectorScores = {
    scores: async (_field, _vector, states) => of("cosine", states),
    topK: async (_field, _vector, _filter, { limit }) => ({
      rows: by("cosine", 0).slice(0, limit),
      approximate: false,
    }),
    missing: async () => [],
    keep: async () => undefined,
  };
  const lexical: LexicalScores = {
    statistics: async () => ({ documents: 100, frequencies: new Map([["red", 10]]) }),
    scores: async (_field, _terms, states) => of("terms", states),
    matches: async (_field, _terms, _filter, options) => {
      asked.push(options);
      return by("terms", options.above).slice(0, options.limit);
    },
  };
  return { asked, embedder, vectors, lexical };
}

function parts({ embedder, vectors, lexical }: ListedSources): Pick<ListedSources, "embedder" | "vectors" | "lexical"> {
  return { embedder, vectors, lexical };
}
