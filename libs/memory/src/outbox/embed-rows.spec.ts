import { expect, test } from "@jest/globals";
import { EspalierError, LIMITS } from "#core";
import { openApart, type TestApart } from "../testing/open-apart.js";
import { embedRows } from "./embed-rows.js";

const FRESH = { takenOver: 0 };

const points = async ({ services }: TestApart, scope: { tenant: string; memory: string }): Promise<number> =>
  (await services.vectors.fingerprint(scope, "bag-of-words")).count;

test("an insert leaves its vectors to the rows of a claim, which may be of several memories", async () => {
  const apart = openApart();
  const { services, model, createMemory, insert, claim } = apart;
  const scopes = [await createMemory(), await createMemory()];
  const jobs = [];
  for (const scope of scopes) jobs.push((await insert(scope, ["beach", "museum", "beach"])).job);
  expect(model.asked).toEqual([]);
  expect(await claim("c")).toBe(6);
  const result = await embedRows(services, "c", FRESH);
  expect(result).toEqual({
    ...{ done: 6, failed: 0, released: 0 },
    jobs: jobs.map((job) => ({ tenant: "default", job })),
  });
  expect([...model.asked].sort()).toEqual(["beach", "museum"]);
  for (const scope of scopes) expect(await points(apart, scope)).toBe(3);
  expect(await services.apart.outbox.backlog(10)).toEqual([]);
  expect(await embedRows(services, "c", FRESH)).toMatchObject({ done: 0, jobs: [] });
});

test("a text that the model cannot embed fails alone, and is given up in the end", async () => {
  const apart = openApart();
  const { services, model, time, createMemory, insert, claim } = apart;
  const scope = await createMemory();
  const { job } = await insert(scope, ["beach", "poison", "museum"]);
  const embed = model.embed.bind(model);
  model.embed = async (texts) => {
    if (texts.includes("poison")) throw new EspalierError("model_bad_output", "The model answered NaN.");
    return embed(texts);
  };
  await claim("c0");
  expect(await embedRows(services, "c0", FRESH)).toMatchObject({ done: 2, failed: 1, released: 0 });
  expect(await points(apart, scope)).toBe(2);
  expect(await claim("early")).toBe(0);
  for (let failures = 1; failures < LIMITS.rowFailures; failures += 1) {
    time.now += LIMITS.rowRetryMaxMs;
    expect(await claim(`c${failures}`)).toBe(1);
    expect(await embedRows(services, `c${failures}`, FRESH)).toMatchObject({ failed: 1, jobs: [{ job }] });
  }
  time.now += LIMITS.rowRetryMaxMs;
  expect(await claim("late")).toBe(0);
  const outstanding = await services.apart.outbox.outstanding([{ tenant: "default", job }]);
  expect(outstanding.get(job)).toMatchObject({ rows: 1, failed: 1, error: { code: "model_bad_output" } });
});

test("however many texts of a claim the model refuses, the others are done, and a row that comes again is tried again", async () => {
  const apart = openApart();
  const { services, model, time, createMemory, insert, claim } = apart;
  const scope = await createMemory();
  await insert(
    scope,
    Array.from({ length: 60 }, (_, at) => (at % 2 === 0 ? `poison ${at}` : `day ${at}`)),
  );
  const embed = model.embed.bind(model);
  model.embed = async (texts) => {
    if (texts.some((text) => text.startsWith("poison"))) throw new EspalierError("model_refused", "Not this one.");
    return embed(texts);
  };
  await claim("c0");
  expect(await embedRows(services, "c0", FRESH)).toMatchObject({ done: 30, failed: 30, released: 0 });
  model.embed = embed;
  time.now += LIMITS.rowRetryMaxMs;
  await claim("c1");
  expect(await embedRows(services, "c1", FRESH)).toMatchObject({ done: 30, failed: 0 });
});

test.each(["model_overloaded", "model_unavailable", "model_timeout"] as const)(
  "%s is no failure of the rows: they are free again after a pause",
  async (code) => {
    const { services, model, time, createMemory, insert, claim } = openApart();
    const scope = await createMemory();
    await insert(scope, ["beach", "museum"]);
    model.failure = new EspalierError(code, "later");
    for (const id of Array.from({ length: LIMITS.rowFailures + 1 }, (_, index) => `c${index}`)) {
      expect(await claim(id)).toBe(2);
      const result = await embedRows(services, id, FRESH);
      expect(result).toMatchObject({ done: 0, failed: 0, released: 2, jobs: [], pressure: { code } });
      expect(await claim(`${id}-early`)).toBe(0);
      time.now += LIMITS.rowPressureMs;
    }
    model.failure = undefined;
    await claim("last");
    expect(await embedRows(services, "last", FRESH)).toMatchObject({ done: 2 });
  },
);

test("a vector store that is away releases the rows; the vectors are cached already", async () => {
  const apart = openApart();
  const { services, model, time, createMemory, insert, claim } = apart;
  const scope = await createMemory();
  await insert(scope, ["beach"]);
  const upsert = services.vectors.upsert.bind(services.vectors);
  services.vectors.upsert = () => Promise.reject(new EspalierError("store_unavailable", "down"));
  await claim("c1");
  expect(await embedRows(services, "c1", FRESH)).toMatchObject({
    released: 1,
    pressure: { code: "store_unavailable" },
  });
  services.vectors.upsert = upsert;
  time.now += LIMITS.rowPressureMs;
  await claim("c2");
  expect(await embedRows(services, "c2", FRESH)).toMatchObject({ done: 1 });
  expect(model.asked).toEqual(["beach"]);
});

test("a point that one memory's store refuses fails its rows, not those of other memories", async () => {
  const apart = openApart();
  const { services, createMemory, insert, claim } = apart;
  const [good, bad] = [await createMemory(), await createMemory()];
  await insert(good, ["beach"]);
  await insert(bad, ["museum"]);
  const upsert = services.vectors.upsert.bind(services.vectors);
  services.vectors.upsert = (scope, given) =>
    scope.memory === bad.memory
      ? Promise.reject(new EspalierError("model_dimension", "The collection has 3 numbers."))
      : upsert(scope, given);
  await claim("c");
  expect(await embedRows(services, "c", FRESH)).toMatchObject({ done: 1, failed: 1 });
  expect(await points(apart, good)).toBe(1);
});

test("a model whose points a memory's store refuses does not fail the rows of its other model", async () => {
  const apart = openApart();
  const { services, createMemory, insert, claim } = apart;
  const scope = await createMemory();
  const embedder = services.embeddingModels.get("bag-of-words");
  services.embeddingModels.get = () => embedder;
  await services.tree.updateMemory(scope, { nextEmbeddingModel: "a-next-model" }, 1);
  await services.vectors.missing(
    scope,
    { revision: 0, model: "a-next-model", field: "" },
    { filter: { scope: { kind: "descendants", of: [""] } } },
    1,
  );
  await insert(scope, ["beach"]);
  const upsert = services.vectors.upsert.bind(services.vectors);
  services.vectors.upsert = (of, given) =>
    given.some(({ model }) => model === "a-next-model")
      ? Promise.reject(new EspalierError("model_dimension", "The collection has 3 numbers."))
      : upsert(of, given);
  expect(await claim("c")).toBe(2);
  expect(await embedRows(services, "c", FRESH)).toMatchObject({ done: 1, failed: 1 });
  expect(await points(apart, scope)).toBe(1);
});

test("a point that the store refuses fails alone, and is given up in the end", async () => {
  const apart = openApart();
  const { services, time, createMemory, insert, claim } = apart;
  const scope = await createMemory();
  const { job, roots } = await insert(scope, ["beach", "museum", "harbour"]);
  const upsert = services.vectors.upsert.bind(services.vectors);
  services.vectors.upsert = (of, given) =>
    given.some(({ id }) => id === roots[1])
      ? Promise.reject(new EspalierError("store_refused", "The store answered 400."))
      : upsert(of, given);
  await claim("c0");
  expect(await embedRows(services, "c0", FRESH)).toMatchObject({ done: 2, failed: 1, released: 0 });
  expect(await points(apart, scope)).toBe(2);
  for (let failures = 1; failures < LIMITS.rowFailures; failures += 1) {
    time.now += LIMITS.rowRetryMaxMs;
    expect(await claim(`c${failures}`)).toBe(1);
    expect(await embedRows(services, `c${failures}`, FRESH)).toMatchObject({ failed: 1 });
  }
  const outstanding = await services.apart.outbox.outstanding([{ tenant: "default", job }]);
  expect(outstanding.get(job)).toMatchObject({ rows: 1, failed: 1, error: { code: "store_refused" } });
});

test("states that ended become so in their points, without a model", async () => {
  const apart = openApart();
  const { services, stores, model, createMemory, insert, claim } = apart;
  const scope = await createMemory();
  const { roots } = await insert(scope, ["beach", "museum"]);
  await claim("c1");
  await embedRows(services, "c1", FRESH);
  await services.tree.commit(scope, {
    ...{ baseRevision: 1, inbox: { job: "job_x", step: "end" }, message: "end", author: "ten", time: 2 },
    ...{ states: [], ends: [roots[0]!], vectors: [], terms: [], result: {} },
  });
  const before = model.asked.length;
  expect(await claim("c2")).toBe(1);
  expect(await embedRows(services, "c2", FRESH)).toMatchObject({ done: 1, jobs: [] });
  const { points: stored } = await stores.apart.points.points(scope, "bag-of-words", { limit: 10 });
  expect(stored.map(({ died }) => died).sort()).toEqual([2, undefined]);
  expect(model.asked).toHaveLength(before);
});

test("rows of a memory that was deleted meanwhile are done", async () => {
  const apart = openApart();
  const { services, model, createMemory, insert, claim } = apart;
  const scope = await createMemory();
  await insert(scope, ["beach"]);
  await claim("c");
  const embed = model.embed.bind(model);
  model.embed = async (texts) => {
    await services.tree.deleteMemory(scope);
    return embed(texts);
  };
  expect(await embedRows(services, "c", FRESH)).toMatchObject({ failed: 0, released: 0 });
  expect(await apart.stores.apart.points.points(scope, "bag-of-words", { limit: 10 })).toEqual({ points: [] });
});

test("work that is stopped gives its rows back at once", async () => {
  const { services, model, createMemory, insert, claim } = openApart();
  const scope = await createMemory();
  await insert(scope, ["beach"]);
  await claim("c1");
  const controller = new AbortController();
  model.embed = async () => {
    controller.abort(new EspalierError("cancelled", "The worker stops."));
    throw new EspalierError("cancelled", "The worker stops.");
  };
  const run = embedRows(services, "c1", { takenOver: 0, signal: controller.signal });
  await expect(run).rejects.toMatchObject({ code: "cancelled" });
  expect(await claim("c2")).toBe(1);
});

test("a text that kills its worker is given up in the end, and the others of its claims are not", async () => {
  const { services, model, time, createMemory, insert, claim } = openApart();
  const scope = await createMemory();
  const { job } = await insert(scope, ["beach", "poison", "museum"]);
  const embed = model.embed.bind(model);
  model.embed = async (texts) => {
    // A dead process answers nothing, and nothing after it in the run happens.
    if (texts.includes("poison")) throw new Error("dead");
    return embed(texts);
  };
  const release = services.apart.outbox.release.bind(services.apart.outbox);
  for (let round = 0; round < LIMITS.rowFailures; round += 1) {
    await claim(`c${round}`);
    services.apart.outbox.release = () => Promise.reject(new Error("dead"));
    await embedRows(services, `c${round}`, { takenOver: 1 }).catch(() => undefined);
    services.apart.outbox.release = release;
    time.now += LIMITS.rowLeaseMs;
  }
  const outstanding = await services.apart.outbox.outstanding([{ tenant: "default", job }]);
  expect(outstanding.get(job)).toMatchObject({ rows: 1, failed: 1, error: { code: "internal" } });
  expect((await services.vectors.fingerprint(scope, "bag-of-words")).count).toBe(2);
});
