import { describe, expect, test } from "@jest/globals";
import { type ErrorCode, EspalierError, LIMITS } from "#core";
import { Entailer, entailmentProcessCache } from "../caching/entailer.js";
import type { EntailmentModel } from "../ports.js";
import { ListedSources, type ListedNode } from "../testing/listed-sources.js";
import { EntailmentScorer } from "./entailment.js";
import { HybridScorer } from "./hybrid.js";
import { LexicalScorer } from "./lexical.js";
import { SimilarityScorer } from "./similarity.js";

const run = { now: (): number => 0 };

const nodesOf = (...texts: readonly (Record<string, string> | string)[]): readonly ListedNode[] =>
  texts.map((text, index) => ({
    key: { id: `nod_${index}`, born: 1, type: "POI", parentId: null, pathKey: `a${index}`, depth: 1 },
    texts: typeof text === "string" ? { "": text } : text,
  }));

const everything = { scope: { kind: "descendants", of: [""] } } as const;

/** A classifier by hand: entails what the premise contains, contradicts when it says "not". */
function wordModel(): EntailmentModel & { readonly asked: { premise: string; hypothesis: string }[] } {
  const asked: { premise: string; hypothesis: string }[] = [];
  return {
    asked,
    id: "words",
    maxTokens: 100,
    countTokens: (text) => text.length,
    entail: async (pairs) => {
      asked.push(...pairs);
      return pairs.map(({ premise, hypothesis }) => {
        if (premise === "nothing") return { entailment: 0, neutral: 1, contradiction: 0 };
        if (premise.includes("not")) return { entailment: 0.1, neutral: 0.6, contradiction: 0.3 };
        const said = premise.split(" ").some((word) => hypothesis.includes(word));
        return said
          ? { entailment: 0.6, neutral: 0.2, contradiction: 0.2 }
          : { entailment: 0.1, neutral: 0.5, contradiction: 0.4 };
      });
    },
  };
}

describe.each([
  ["similarity", (sources: ListedSources) => new SimilarityScorer(sources, run)],
  ["lexical", (sources: ListedSources) => new LexicalScorer(sources, run)],
  ["hybrid", (sources: ListedSources) => new HybridScorer({ ...pick(sources), a: 0.4 }, run)],
])("%s", (name, scorerOf) => {
  test("an empty text, a missing attribute and an empty condition are 0", async () => {
    const nodes = nodesOf("", { "": "poster", name: "poster" });
    const sources = new ListedSources(nodes);
    const candidates = nodes.map(({ key }) => key);
    const scorer = scorerOf(sources);
    expect([...(await scorer.relevance({ field: "", text: "poster", candidates })).values][0]).toBe(0);
    expect([...(await scorer.relevance({ field: "name", text: "poster", candidates })).values][0]).toBe(0);
    expect([...(await scorer.relevance({ field: "", text: "", candidates })).values]).toEqual([0, 0]);
    expect((await scorer.topK({ field: "", text: "", filter: everything, limit: 5, exact: true })).rows).toEqual([]);
  });

  test("without candidates nothing is asked for", async () => {
    const sources = new ListedSources(nodesOf("poster"));
    await scorerOf(sources).relevance({ field: "", text: "poster", candidates: [] });
    expect(sources.calls).toEqual([]);
    expect(sources.model.asked).toEqual([]);
  });

  test(`a value of ${name} does not depend on the other candidates`, async () => {
    const nodes = nodesOf("poster talk", "hotel", "beach soup", "poster");
    const sources = new ListedSources(nodes);
    const keys = nodes.map(({ key }) => key);
    const together = await scorerOf(sources).relevance({ field: "", text: "poster hotel", candidates: keys });
    for (const [index, key] of keys.entries()) {
      const alone = await scorerOf(sources).relevance({ field: "", text: "poster hotel", candidates: [key] });
      expect(alone.values[0]).toBe(together.values[index]);
    }
  });
});

describe("missing vectors", () => {
  const nodes = nodesOf("poster talk", "hotel beach", "");
  const candidates = nodes.map(({ key }) => key);

  test("are computed in the query, kept and counted", async () => {
    const sources = new ListedSources(nodes, { embedded: ({ key }) => key.id === "nod_0" });
    const progress: string[] = [];
    const scorer = new SimilarityScorer(sources, {
      ...run,
      onProgress: (done, total) => progress.push(`${done}/${total}`),
    });
    const { values, trace } = await scorer.relevance({ field: "", text: "beach hotel", candidates });
    expect(values[1]).toBe(1);
    expect(values[2]).toBe(0);
    expect(trace).toMatchObject({ computed: 1, windowed: 0, modelCalls: 2, batchSizes: [1, 1] });
    expect(progress).toEqual(["0/1", "1/1"]);
    const again = await scorer.relevance({ field: "", text: "beach hotel", candidates });
    expect(again.trace).toMatchObject({ computed: 0, modelCalls: 0, cacheHits: 1 });
    expect([...again.values]).toEqual([...values]);
  });

  test("of a filter are computed before the best are taken", async () => {
    const sources = new ListedSources(nodes, { embedded: () => false });
    const request = { field: "", text: "hotel", filter: everything, limit: 2, exact: true };
    const { rows, trace } = await new SimilarityScorer(sources, run).topK(request);
    expect(rows[0]?.key.id).toBe("nod_1");
    expect(trace.computed).toBe(2);
  });

  test("that somebody else stores meanwhile are asked for again", async () => {
    const sources = new ListedSources(nodes, { embedded: () => false });
    const late = {
      ...sources.vectors,
      missing: async (...asked: Parameters<typeof sources.vectors.missing>) => {
        const other = new SimilarityScorer(sources, run);
        await other.relevance({ field: "", text: "beach", candidates });
        return sources.vectors.missing(...asked);
      },
    };
    const scorer = new SimilarityScorer({ ...pick(sources), vectors: late }, run);
    const { values, trace } = await scorer.relevance({ field: "", text: "hotel beach", candidates });
    expect(values[1]).toBe(1);
    expect(trace.computed).toBe(0);
  });

  test("that the store does not keep end the search all the same", async () => {
    const sources = new ListedSources(nodes, { embedded: () => false });
    const forgetful = { ...pick(sources), vectors: { ...sources.vectors, keep: () => Promise.resolve() } };
    const { values } = await new SimilarityScorer(forgetful, run).relevance({ field: "", text: "hotel", candidates });
    expect([...values]).toEqual([0, 0, 0]);
  });
});

describe("texts that the model refuses", () => {
  const bad = Array.from({ length: 20 }, (_, at) => `bad ${at}`);
  const nodes = nodesOf("hotel", ...bad, "hotel beach");
  const candidates = nodes.map(({ key }) => key);
  const refusing = (code: ErrorCode, of: readonly string[] = []): ListedSources => {
    const sources = new ListedSources(of.length === 0 ? nodes : nodesOf(...of), { embedded: () => false });
    const embed = sources.model.embed.bind(sources.model);
    sources.model.embed = async (texts, signal) => {
      sources.model.asked.push(...texts);
      if (texts.some((text) => text.startsWith("bad"))) throw new EspalierError(code, "not this one");
      return embed(texts, signal);
    };
    return sources;
  };

  test.each(["model_refused", "model_bad_output"] as const)(
    "are 0, counted and told, and no other value is (%s)",
    async (code) => {
      const sources = refusing(code);
      const told: string[] = [];
      const onRefused = (_: string, states: readonly { readonly id: string }[]): void => {
        told.push(...states.map(({ id }) => id));
      };
      const scorer = new SimilarityScorer(sources, { ...run, onRefused });
      const { values, trace } = await scorer.relevance({ field: "", text: "hotel", candidates });
      expect(values[0]).toBe(1);
      expect(values[21]).toBeGreaterThan(0);
      expect([...values.slice(1, 21)]).toEqual(bad.map(() => 0));
      expect(trace).toMatchObject({ computed: 2, refused: 20 });
      expect(told).toHaveLength(20);
      sources.model.asked.length = 0;
      const { rows, trace: later } = await scorer.topK({
        field: "",
        text: "hotel",
        filter: everything,
        limit: 30,
        exact: true,
      });
      expect(rows.map(({ key }) => key.id)).toEqual(["nod_0", "nod_21"]);
      expect(later).toMatchObject({ computed: 0, refused: 20 });
      expect(sources.model.asked).toEqual([]);
    },
  );

  test("do not blame the model, though a whole page has nothing else", async () => {
    const only = Array.from({ length: LIMITS.cacheKeys + 5 }, (_, at) => `bad ${at}`);
    const sources = refusing("model_refused", [...only, "hotel"]);
    const request = { field: "", text: "hotel", filter: everything, limit: 3, exact: true };
    const { rows, trace } = await new SimilarityScorer(sources, run).topK(request);
    expect(rows.map(({ value }) => value)).toEqual([1]);
    expect(trace).toMatchObject({ computed: 1, refused: only.length });
  });

  test("have the value of their terms alone under hybrid", async () => {
    const sources = refusing("model_refused", ["bad hotel", "beach"]);
    const scorer = new HybridScorer({ ...pick(sources), a: 0.5 }, run);
    const request = { field: "", text: "hotel", filter: everything, limit: 3, exact: true };
    const found = (await scorer.topK(request)).rows.find(({ key }) => key.id === "nod_0");
    const lexical = await new LexicalScorer(sources, run).topK(request);
    expect(found?.value).toBeCloseTo(lexical.rows[0]!.value / 2, 5);
  });

  test.each(["model_unavailable", "model_out_of_memory"] as const)(
    "are not told from a model that is in trouble: %s",
    async (code) => {
      await expect(
        new SimilarityScorer(refusing(code), run).relevance({ field: "", text: "hotel", candidates }),
      ).rejects.toMatchObject({ code });
    },
  );
});

describe("hybrid", () => {
  const nodes = nodesOf("poster talk", "hotel beach", "poster");
  const candidates = nodes.map(({ key }) => key);
  const relevanceAt = async (a: number): Promise<readonly number[]> => {
    const scorer = new HybridScorer({ ...pick(new ListedSources(nodes)), a }, run);
    return [...(await scorer.relevance({ field: "", text: "poster hotel", candidates })).values];
  };

  test("is the weighted sum of the other two", async () => {
    const [lexical, similarity, mixed] = [await relevanceAt(0), await relevanceAt(1), await relevanceAt(0.25)];
    for (const index of candidates.keys()) {
      expect(mixed[index]).toBeCloseTo(0.25 * similarity[index]! + 0.75 * lexical[index]!, 5);
    }
  });

  test("asks no model when similarity has no share, and reads no postings when it has all", async () => {
    const [words, meaning] = [new ListedSources(nodes), new ListedSources(nodes)];
    const request = { field: "", text: "poster", filter: everything, limit: 2, exact: true };
    await new HybridScorer({ ...pick(words), a: 0 }, run).topK(request);
    await new HybridScorer({ ...pick(meaning), a: 1 }, run).topK(request);
    expect(words.model.asked).toEqual([]);
    expect(meaning.calls.filter((call) => call.startsWith("lexical"))).toEqual([]);
  });

  test("takes the best of many nodes without scoring them all", async () => {
    const words = (index: number): string => `w${index % 17} w${index % 23} w${index % 29} w${index % 31}`;
    const many = nodesOf(...Array.from({ length: 500 }, (_, at) => (at === 250 ? "poster hotel" : words(at))));
    const sources = new ListedSources(many, { dimension: 64 });
    const scored: number[] = [];
    const vectors: typeof sources.vectors = {
      ...sources.vectors,
      scores: (field, vector, states) => {
        scored.push(states.length);
        return sources.vectors.scores(field, vector, states);
      },
    };
    const scorer = new HybridScorer({ ...pick(sources), vectors, a: 0.4 }, run);
    const { rows } = await scorer.topK({
      field: "",
      text: "poster hotel w3 w5",
      filter: everything,
      limit: 3,
      exact: true,
    });
    expect(rows[0]?.key.id).toBe("nod_250");
    expect(scored.reduce((sum, count) => sum + count, 0)).toBeLessThan(200);
  });
});

describe("hybrid at a tie of many neighbours", () => {
  test("values that are rounded to the same are a tie, in document order", async () => {
    const nodes = nodesOf(...Array.from({ length: 60 }, (_, at) => `text${at}`));
    const keys = nodes.map(({ key }) => key).sort((left, right) => (left.pathKey < right.pathKey ? -1 : 1));
    const [first, last] = [keys[0]!, keys.at(-1)!];
    // Both round to 0.500001, whose 0.4 rounds to 0.2; without that 0.4 of the last would round to 0.200001.
    const cosineOf = (id: string): number => (id === last.id ? 0.50000145 : 0.50000055);
    const sources = new ListedSources(nodes);
    const vectors: typeof sources.vectors = {
      ...sources.vectors,
      scores: async (_field, _vector, states) => Float64Array.from(states, ({ id }) => cosineOf(id)),
      topK: async (_field, _vector, _filter, { limit }) => ({
        rows: keys.slice(0, limit).map((key) => ({ key, value: 0.500001 })),
        approximate: false,
      }),
    };
    const scorer = new HybridScorer({ ...pick(sources), vectors, a: 0.4 }, run);
    const { rows } = await scorer.topK({ field: "", text: "unheard of", filter: everything, limit: 1, exact: true });
    expect(rows).toEqual([{ key: first, value: 0.2 }]);
    const { values } = await scorer.relevance({ field: "", text: "unheard of", candidates: [first, last] });
    expect([...values]).toEqual([0.2, 0.2]);
  });
});

describe("entailment", () => {
  const nodes = nodesOf("poster session", "museum", "not a poster", "nothing", "", "museum");
  const candidates = nodes.map(({ key }) => key);
  const scorerOf = (model: EntailmentModel, entailmentCache?: Map<string, number>): EntailmentScorer =>
    new EntailmentScorer(
      {
        entailer: new Entailer(model, { processCache: entailmentProcessCache(), now: () => 0 }),
        texts: new ListedSources(nodes).texts,
        template: "This is about {}.",
        entailmentCache:
          entailmentCache === undefined
            ? undefined
            : {
                get: async (hashes) => new Map([...entailmentCache].filter(([hash]) => hashes.includes(hash))),
                put: async (entries) => {
                  for (const [hash, value] of entries) entailmentCache.set(hash, value);
                },
              },
      },
      run,
    );

  test("is P(entail) / (P(entail) + P(contradict)), and 0 for an empty text or sheer neutrality", async () => {
    const { values } = await scorerOf(wordModel()).relevance({ field: "", text: "poster", candidates });
    expect([...values]).toEqual([0.75, 0.2, 0.25, 0, 0, 0.2]);
  });

  test("the condition stands in the template as it is", async () => {
    const model = wordModel();
    await scorerOf(model).relevance({ field: "", text: "$& and {}", candidates: candidates.slice(0, 1) });
    expect(model.asked[0]?.hypothesis).toBe("This is about $& and {}.");
  });

  test("equal premises are asked about once, and again never while a cache remembers", async () => {
    const model = wordModel();
    const persistent = new Map<string, number>();
    const first = await scorerOf(model, persistent).relevance({ field: "", text: "poster", candidates });
    expect(model.asked).toHaveLength(4);
    const second = await scorerOf(model, persistent).relevance({ field: "", text: "poster", candidates });
    expect(model.asked).toHaveLength(4);
    expect(second.trace).toMatchObject({ cacheHits: 4, modelCalls: 0 });
    expect([...second.values]).toEqual([...first.values]);
    await scorerOf(model, persistent).relevance({ field: "", text: "museum", candidates });
    expect(model.asked).toHaveLength(8);
  });

  test("probabilities that are none are refused, naming model and pair", async () => {
    const broken: EntailmentModel = {
      ...wordModel(),
      entail: async (pairs) => pairs.map(() => ({ entailment: Number.NaN, neutral: 0, contradiction: 0 })),
    };
    await expect(
      scorerOf(broken).relevance({ field: "", text: "x", candidates: candidates.slice(0, 1) }),
    ).rejects.toMatchObject({ code: "model_bad_output", details: { model: "words", index: 0 } });
  });

  test("has no index to push a search down to", async () => {
    const scorer = scorerOf(wordModel());
    expect(scorer.pushesDown).toBe(false);
    await expect(scorer.topK()).rejects.toBeInstanceOf(EspalierError);
  });
});

function pick({ embedder, vectors, lexical }: ListedSources): Pick<ListedSources, "embedder" | "vectors" | "lexical"> {
  return { embedder, vectors, lexical };
}
