import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { EmbeddingModel } from "#scoring";
import { FakeModelServer } from "../../../../test/support/fake-model-server.js";
import { openOpenAiEmbeddingModel } from "../openai/open-openai-embedding-model.js";
import { openTeiEmbeddingModel } from "../tei/open-tei-embedding-model.js";
import type { Patience } from "./call-server.js";

const PATIENCE = { timeoutMs: 5_000, retries: 2, pauseMs: 1 };

let server: FakeModelServer;
beforeAll(async () => {
  server = await FakeModelServer.start({ apiKey: "secret-key", maxTokens: 64, maxBatch: 8 });
});
afterEach(() => {
  server.reset();
});
afterAll(() => server.stop());

const texts = (count: number): string[] => Array.from({ length: count }, (_, index) => `text number ${index}`);
const dot = (left: Float32Array, right: readonly number[]): number =>
  left.reduce((sum, value, index) => sum + value * right[index]!, 0);

interface Adapter {
  readonly name: string;
  readonly open: (patience?: Patience, apiKey?: string) => Promise<EmbeddingModel>;
}

const ADAPTERS: readonly Adapter[] = [
  {
    name: "OpenAI",
    open: (patience = PATIENCE, apiKey = "secret-key") =>
      openOpenAiEmbeddingModel({ url: `${server.url}/v1`, model: "fake-model", apiKey, patience }),
  },
  {
    name: "TEI",
    open: (patience = PATIENCE, apiKey = "secret-key") => openTeiEmbeddingModel({ url: server.url, apiKey, patience }),
  },
];

/** What every adapter of an embedding server must do, whatever its protocol. */
describe.each(ADAPTERS)("an embedding model behind $name", ({ name, open }) => {
  let model: EmbeddingModel;
  beforeAll(async () => {
    model = await open();
  });

  test("is known by provider, host and model", () => {
    expect(model.id).toBe(`${name.toLowerCase()}:${new URL(server.url).host}/fake-model`);
  });

  test("learns its dimension from a first answer", () => {
    expect(model.dimension).toBe(16);
  });

  test("wants several requests in flight, for the server batches by itself", () => {
    expect(model.batching?.inFlight).toBe(3);
  });

  test("gives each text its own vector, in order", async () => {
    const asked = texts(5);
    const answers = await model.embed(asked);
    for (const [index, { vector, windowed }] of answers.entries()) {
      expect(dot(vector, server.vectorOf(asked[index]!))).toBeCloseTo(1, 6);
      expect(windowed).toBe(false);
    }
    expect(answers).toHaveLength(5);
  });

  test("halves a batch that the server finds too large", async () => {
    expect(await model.embed(texts(20))).toHaveLength(20);
  });

  test("embeds a text over the window in windows, and marks it", async () => {
    const long = `${"alpha ".repeat(100)}${"omega ".repeat(100)}`;
    const [embedding, short] = await model.embed([long, "short"]);
    expect(embedding!.windowed).toBe(true);
    expect(short!.windowed).toBe(false);
    expect(dot(embedding!.vector, server.vectorOf("alpha"))).toBeGreaterThan(0.5);
    expect(dot(embedding!.vector, server.vectorOf("omega"))).toBeGreaterThan(0.5);
  });

  test.each([429, 500, 503])("tries again after %d", async (status) => {
    server.misbehave({ kind: "status", status }, { kind: "status", status });
    expect(await model.embed(["one"])).toHaveLength(1);
    expect(server.calls).toHaveLength(3);
  });

  test("waits as long as Retry-After says", async () => {
    const startedAt = performance.now();
    server.misbehave({ kind: "status", status: 429, headers: { "retry-after": "0.2" } });
    await model.embed(["one"]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(190);
  });

  test("leaves a pause of minutes to the job's own retries", async () => {
    server.misbehave({ kind: "status", status: 429, headers: { "retry-after": "600" } });
    await expect(model.embed(["one"])).rejects.toMatchObject({ code: "model_overloaded" });
    expect(server.calls).toHaveLength(1);
  });

  test.each([
    [429, "model_overloaded"],
    [500, "model_unavailable"],
    [503, "model_unavailable"],
  ])("answers a server that stays at %d with %s, which a job tries again", async (status, code) => {
    server.alwaysMisbehave({ kind: "status", status });
    const failure = await model.embed(["one"]).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code, kind: { retryable: true } });
    expect(server.calls).toHaveLength(3);
  });

  test("tries again after a lost connection", async () => {
    server.misbehave({ kind: "disconnect" });
    expect(await model.embed(["one"])).toHaveLength(1);
  });

  test.each([400, 403, 404])("does not insist on %d", async (status) => {
    server.misbehave({ kind: "status", status });
    await expect(model.embed(["one"])).rejects.toMatchObject({ code: "model_refused", kind: { retryable: false } });
    expect(server.calls).toHaveLength(1);
  });

  test("does not follow a redirect: texts go where the configuration says", async () => {
    const location = `${server.url}${name === "TEI" ? "/embed" : "/v1/embeddings"}`;
    server.reset();
    server.misbehave({ kind: "status", status: 307, headers: { location } });
    await expect(model.embed(["one"])).rejects.toMatchObject({ code: "model_refused", details: { status: 307 } });
    expect(server.calls).toHaveLength(1);
  });

  test("says that its key is refused without repeating it", async () => {
    const failure = (await open(PATIENCE, "wrong-key").catch((error: unknown) => error)) as Error;
    expect(failure).toMatchObject({ code: "model_refused" });
    expect(failure.message).not.toContain("wrong-key");
  });

  test.each([{ kind: "hang" } as const, { kind: "hang in the body" } as const])(
    "gives up on a server that does: $kind",
    async (how) => {
      const impatient = await open({ timeoutMs: 100, retries: 2, pauseMs: 1 });
      server.reset();
      server.misbehave(how);
      await expect(impatient.embed(["one"])).rejects.toMatchObject({
        code: "model_timeout",
        kind: { retryable: true },
      });
      expect(server.calls).toHaveLength(1);
    },
  );

  test("takes back its request when the work is cancelled", async () => {
    const controller = new AbortController();
    server.misbehave({ kind: "hang" });
    const running = model.embed(["one"], controller.signal).catch((error: unknown) => error);
    while (server.calls.length === 0) await new Promise(setImmediate);
    controller.abort();
    expect(await running).toMatchObject({ code: "cancelled" });
    expect(await server.calls[0]!.aborted).toBe(true);
  });

  test("stops waiting for a Retry-After when the work is cancelled", async () => {
    const controller = new AbortController();
    server.misbehave({ kind: "status", status: 429, headers: { "retry-after": "15" } });
    const running = model.embed(["one"], controller.signal).catch((error: unknown) => error);
    while (server.calls.length === 0) await new Promise(setImmediate);
    await server.calls[0]!.aborted;
    controller.abort();
    expect(await running).toMatchObject({ code: "cancelled" });
  });

  test.each([
    ["half batch", "model_bad_output", /2 vectors for 4 texts/],
    ["wrong dimension", "model_dimension", /a vector of 15 numbers at index 0, expected 16/],
  ] as const)("refuses a %s as %s", async (kind, code, message) => {
    server.misbehave({ kind });
    await expect(model.embed(texts(4))).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
      details: { model: model.id },
    });
  });

  test("refuses a vector with a null by its index", async () => {
    server.misbehave({ kind: "broken vector", index: 2, value: "null" });
    await expect(model.embed(texts(4))).rejects.toMatchObject({
      code: "model_bad_output",
      message: expect.stringMatching(/NaN at position 0 of the vector at index 2/),
      details: { model: model.id, index: 2 },
    });
  });

  test("refuses a vector of zeros", async () => {
    server.misbehave({ kind: "broken vector", index: 1, value: "zeros" });
    await expect(model.embed(texts(2))).rejects.toMatchObject({ code: "model_bad_output", details: { index: 1 } });
  });

  test.each([{ kind: "broken vector", index: 0, value: "NaN" } as const, { kind: "not json" } as const])(
    "refuses what is not JSON: $kind",
    async (how) => {
      server.misbehave(how);
      await expect(model.embed(["one"])).rejects.toMatchObject({ code: "model_bad_output" });
    },
  );

  test.each([424, 500])("tells a server that is out of memory (%d) from one that is down", async (status) => {
    server.misbehave({ kind: "status", status, text: "DriverError(CUDA_ERROR_OUT_OF_MEMORY, out of memory)" });
    await expect(model.embed(["one"])).rejects.toMatchObject({ code: "model_out_of_memory" });
    expect(server.calls).toHaveLength(1);
  });

  test("never repeats a text in an error", async () => {
    server.misbehave({ kind: "status", status: 400, text: "cannot embed: my secret diary" });
    const failure = (await model.embed(["my secret diary"]).catch((error: unknown) => error)) as Error;
    expect(JSON.stringify([failure.message, failure])).not.toContain("diary");
  });
});

test("a TEI server with another model than the stated one is refused by both names", async () => {
  const opening = openTeiEmbeddingModel({ url: server.url, model: "e5", apiKey: "secret-key", patience: PATIENCE });
  await expect(opening).rejects.toMatchObject({
    code: "model_refused",
    message: expect.stringContaining("serves fake-model, expected e5"),
  });
});

test("a server that is not there is unavailable", async () => {
  const opening = openTeiEmbeddingModel({ url: "http://127.0.0.1:9", patience: PATIENCE });
  await expect(opening).rejects.toMatchObject({ code: "model_unavailable", kind: { retryable: true } });
});
