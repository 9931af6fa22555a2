import { describe, expect, test } from "@jest/globals";
import { type ErrorCode, EspalierError, LIMITS } from "#core";
import type { Embedding, EmbeddingCache, EmbeddingModel } from "../ports.js";
import { bagModel } from "../testing/listed-sources.js";
import { Embedder, embeddingProcessCache } from "./embedder.js";
import { entailmentHash, textHash } from "./hashes.js";

/** A tenant's cache in memory that counts its calls. */
function tenantCache(): EmbeddingCache & { readonly kept: Map<string, Embedding>; readonly calls: string[] } {
  const kept = new Map<string, Embedding>();
  const calls: string[] = [];
  return {
    kept,
    calls,
    get: async (hashes) => {
      calls.push(`get ${hashes.length}`);
      return new Map([...kept].filter(([hash]) => hashes.includes(hash)));
    },
    put: async (entries) => {
      calls.push(`put ${entries.size}`);
      for (const [hash, embedding] of entries) kept.set(hash, embedding);
    },
  };
}

const embedderOf = (model: EmbeddingModel, onLookup?: (...heard: unknown[]) => void): Embedder =>
  new Embedder(model, {
    processCache: embeddingProcessCache(),
    now: () => 0,
    ...(onLookup !== undefined && { onLookup }),
  });

/** The bag model, but these texts break what they are in. */
const breaking = (text: string, error: EspalierError): EmbeddingModel => {
  const model = bagModel();
  const embed: EmbeddingModel["embed"] = async (texts, signal) => {
    if (texts.includes(text)) throw error;
    return model.embed(texts, signal);
  };
  return { ...model, embed };
};

const texts = (count: number): string[] => Array.from({ length: count }, (_, index) => `text ${index}`);

describe("caches", () => {
  test("equal texts are embedded once, and given back in the order that was asked for", async () => {
    const model = bagModel();
    const { embeddings, cacheHits } = await embedderOf(model).embed(["b", "a", "b"]);
    expect([...model.asked].sort()).toEqual(["a", "b"]);
    expect(embeddings[0]).toBe(embeddings[2]);
    expect(embeddings[1]?.vector).toEqual((await bagModel().embed(["a"]))[0]?.vector);
    expect(cacheHits).toBe(0);
  });

  test("what the process knows asks neither tenant nor model", async () => {
    const model = bagModel();
    const embedder = embedderOf(model);
    await embedder.embed(["a"]);
    const cache = tenantCache();
    const again = await embedder.embed(["a"], { cache });
    expect(again).toMatchObject({ cacheHits: 1, batchSizes: [] });
    expect(cache.calls).toEqual([]);
    expect(model.asked).toEqual(["a"]);
  });

  test("what the tenant's cache knows asks no model, in one call for all keys", async () => {
    const cache = tenantCache();
    await embedderOf(bagModel()).embed(texts(40), { cache });
    const model = bagModel();
    const later = await embedderOf(model).embed(texts(40), { cache });
    expect(later.cacheHits).toBe(40);
    expect(model.asked).toEqual([]);
    expect(cache.calls).toEqual(["get 40", "put 40", "get 40"]);
  });

  test("lookups are reported by cache", async () => {
    const heard: unknown[][] = [];
    const embedder = embedderOf(bagModel(), (...lookup) => heard.push(lookup));
    await embedder.embed(["a", "b"], { cache: tenantCache() });
    expect(heard).toEqual([
      ["process", 0, 2],
      ["tenant", 0, 2],
    ]);
  });

  test("the process's cache is bounded by bytes", () => {
    const cache = embeddingProcessCache(10_000);
    for (let index = 0; index < 100; index += 1) {
      cache.set(String(index), { vector: new Float32Array(384), windowed: false });
    }
    expect(cache.calculatedSize).toBeLessThanOrEqual(10_000);
    expect(cache.size).toBe(5);
  });

  test("two models never share a vector", () => {
    expect(textHash("model-a", "text")).not.toBe(textHash("model-b", "text"));
    expect(textHash("a", "bc")).not.toBe(textHash("ab", "c"));
  });

  test("an entailment value depends on model, template, premise and condition", () => {
    const of = { modelId: "m", template: "{}", premise: "p", condition: "c" };
    const hashes = [
      of,
      { ...of, modelId: "n" },
      { ...of, template: "x{}" },
      { ...of, premise: "q" },
      { ...of, condition: "d" },
    ];
    expect(new Set(hashes.map(entailmentHash)).size).toBe(5);
  });
});

describe("a job that dies", () => {
  test("resumes where it was: what was computed is kept as it comes", async () => {
    const cache = tenantCache();
    const wave = LIMITS.modelWaveItems;
    const controller = new AbortController();
    const dying = embedderOf(bagModel()).embed(texts(5 * wave), {
      cache,
      signal: controller.signal,
      onProgress: (done) => {
        if (done >= 2 * wave) controller.abort();
      },
    });
    await expect(dying).rejects.toMatchObject({ code: "cancelled" });
    expect(cache.kept.size).toBeGreaterThanOrEqual(2 * wave);
    expect(cache.kept.size).toBeLessThan(5 * wave);
    const model = bagModel();
    const kept = cache.kept.size;
    const { cacheHits } = await embedderOf(model).embed(texts(5 * wave), { cache });
    expect(cacheHits).toBe(kept);
    expect(model.asked).toHaveLength(5 * wave - kept);
  });

  test("keeps the neighbours of a text that fails", async () => {
    const cache = tenantCache();
    const error = new EspalierError("model_out_of_memory", "full");
    const failing = embedderOf(breaking("text 3", error)).embed(texts(10), { cache });
    await expect(failing).rejects.toBe(error);
    expect(cache.kept.size).toBe(9);
  });

  test("progress counts distinct texts and ends at all of them", async () => {
    const heard: string[] = [];
    await embedderOf(bagModel()).embed([...texts(600), "text 0"], {
      onProgress: (done, total) => heard.push(`${done}/${total}`),
    });
    expect(heard[0]).toBe("0/600");
    expect(heard.at(-1)).toBe("600/600");
  });

  test("nothing is asked when the work is cancelled before", async () => {
    const model = bagModel();
    const cancelled = embedderOf(model).embed(["a"], { signal: AbortSignal.abort() });
    await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
    expect(model.asked).toEqual([]);
  });
});

describe("each for itself", () => {
  /** The bag model, which refuses texts while they are bad. */
  const refusing = (code: ErrorCode, details = {}) => {
    const bad = new Set<string>();
    const model = bagModel();
    const embed: EmbeddingModel["embed"] = async (asked) => {
      model.asked.push(...asked);
      if (asked.some((text) => bad.has(text))) throw new EspalierError(code, "not this one", { details });
      return bagModel().embed(asked);
    };
    return { bad, asked: model.asked, model: { ...model, embed } };
  };
  const codes = ({ outcomes }: Awaited<ReturnType<Embedder["embedEach"]>>): readonly string[] =>
    outcomes.map((outcome) => (outcome instanceof EspalierError ? outcome.code : "vector"));

  test.each(["model_refused", "model_bad_output", "model_out_of_memory"] as const)(
    "a text that fails with %s has its error, the others have their vectors",
    async (code) => {
      const { model, bad } = refusing(code);
      for (const at of [0, 3, 4, 400]) bad.add(`text ${at}`);
      const cache = tenantCache();
      const answer = codes(await embedderOf(model).embedEach([...texts(600), "text 3"], { cache }));
      expect(answer.flatMap((outcome, at) => (outcome === code ? at : []))).toEqual([0, 3, 4, 400, 600]);
      expect(cache.kept.size).toBe(596);
    },
  );

  test("what was refused is not asked about again, unless the caller says so, and then known anew", async () => {
    const { model, bad, asked } = refusing("model_refused");
    bad.add("text 0");
    const embedder = embedderOf(model);
    const each = async (again: boolean): Promise<readonly string[]> =>
      codes(await embedder.embedEach(["text 0", "text 1"], { again }));
    expect(await each(false)).toEqual(["model_refused", "vector"]);
    asked.length = 0;
    expect(await each(false)).toEqual(["model_refused", "vector"]);
    expect(asked).toEqual([]);
    expect(await each(true)).toEqual(["model_refused", "vector"]);
    expect(asked).toEqual(["text 0"]);
    bad.clear();
    expect(await each(true)).toEqual(["vector", "vector"]);
    expect(await each(false)).toEqual(["vector", "vector"]);
  });

  test("a refusal is forgotten after a while", async () => {
    const { model, bad, asked } = refusing("model_bad_output");
    bad.add("text 0");
    let time = 1;
    const embedder = new Embedder(model, { processCache: embeddingProcessCache(), now: () => time });
    await embedder.embedEach(["text 0"]);
    time += LIMITS.refusedItemMs + 1;
    await embedder.embedEach(["text 0"]);
    expect(asked).toEqual(["text 0", "text 0"]);
  });

  test("a model that is away, or that refuses the key, is no text's fault", async () => {
    for (const { model, bad } of [refusing("model_unavailable"), refusing("model_refused", { status: 401 })]) {
      bad.add("text 0");
      await expect(embedderOf(model).embedEach(texts(2))).rejects.toMatchObject({ message: "not this one" });
    }
  });
});

describe("what a model answers", () => {
  const answering = (vector: Float32Array): Embedder =>
    embedderOf({ ...bagModel(2), embed: async (asked) => asked.map(() => ({ vector, windowed: false })) });

  test.each([
    ["not a number", Float32Array.of(1, Number.NaN), "model_bad_output", /bag-2 answered NaN at position 1 .* index 0/],
    ["infinite", Float32Array.of(1, Infinity), "model_bad_output", /Infinity at position 1/],
    ["of zeros", Float32Array.of(0, 0), "model_bad_output", /zeros at index 0/],
    ["of another dimension", Float32Array.of(1), "model_dimension", /1 numbers at index 0, expected 2/],
  ])("is refused when it is %s, naming model, index and what", async (_, vector, code, message) => {
    await expect(answering(vector).embed(["a"])).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
      details: { model: "bag-2", index: 0 },
    });
  });

  test("is refused when it is short, naming both counts", async () => {
    const embedder = embedderOf({ ...bagModel(), embed: async () => [] });
    await expect(embedder.embed(["a"])).rejects.toMatchObject({
      code: "model_bad_output",
      details: { expected: 1, received: 0 },
    });
  });
});

test("an empty text is a bug of the caller", async () => {
  await expect(embedderOf(bagModel()).embed([""])).rejects.toMatchObject({ code: "internal" });
});
