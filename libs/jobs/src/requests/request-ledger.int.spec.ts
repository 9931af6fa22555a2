import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { EspalierError, LIMITS } from "#core";
import { openJobBench, request, until, type JobBench } from "../testing/job-bench.js";
import { createRequestLedger, type RequestLedger } from "./request-ledger.js";

let bench: JobBench;
let ledger: RequestLedger;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(async () => {
  await ledger.close();
  await bench.reset();
});
afterAll(() => bench.close());

const open = (idempotencyKeys?: number, idempotencyMs = bench.settings.idempotencyMs): RequestLedger => {
  const settings = { ...bench.settings, idempotencyMs };
  const limits = async () => ({ ...(idempotencyKeys !== undefined && { idempotencyKeys }) });
  ledger = createRequestLedger({ redis: bench.redis.address, settings, limits });
  return ledger;
};
const asked = { tenant: "ten_a", key: "k", fingerprint: "f" };

test("the first request of a key runs, those beside it wait, those after it have its answer", async () => {
  open();
  expect(await ledger.begin(asked, "e1")).toEqual({ turn: "run", effect: "e1" });
  expect(await ledger.begin(asked, "e2")).toEqual({ turn: "wait" });
  await ledger.end(asked, "e1", "answer");
  expect(await ledger.begin(asked, "e3")).toEqual({ turn: "done", answer: "answer" });
  await expect(ledger.begin({ ...asked, fingerprint: "other" }, "e4")).rejects.toMatchObject({
    code: "idempotency_conflict",
  });
  expect(await ledger.begin({ ...asked, tenant: "ten_b" }, "e5")).toEqual({ turn: "run", effect: "e5" });
});

test("a request that had no end is taken over under the same effect, at once or after its lease", async () => {
  open();
  await ledger.begin(asked, "e1");
  await ledger.abandon(asked, "e1");
  expect(await ledger.begin(asked, "e2")).toEqual({ turn: "run", effect: "e1" });
  const entry = (await bench.bare().keys(`${bench.settings.prefix}:*idempotency:*`))[0]!;
  await bench.bare().hset(entry, "leaseUntil", Date.now() - 1);
  expect(await ledger.begin(asked, "e3")).toEqual({ turn: "run", effect: "e1" });
  await ledger.end(asked, "e1", "answer");
  await ledger.abandon(asked, "e1");
  expect(await ledger.begin(asked, "e4")).toEqual({ turn: "done", answer: "answer" });
});

test("a request that was refused leaves nothing, unless a try before it may have done something", async () => {
  open();
  await ledger.begin(asked, "e1");
  await ledger.refused(asked, "other");
  expect(await ledger.begin(asked, "e2")).toEqual({ turn: "wait" });
  await ledger.refused(asked, "e1");
  expect(await ledger.begin({ ...asked, fingerprint: "other" }, "e3")).toEqual({ turn: "run", effect: "e3" });
  await ledger.abandon({ ...asked, fingerprint: "other" }, "e3");
  expect(await ledger.begin({ ...asked, fingerprint: "other" }, "e4")).toEqual({ turn: "run", effect: "e3" });
  await ledger.refused({ ...asked, fingerprint: "other" }, "e3");
  expect(await ledger.begin({ ...asked, fingerprint: "other" }, "e5")).toEqual({ turn: "run", effect: "e3" });
});

/** Begins and ends a request of a key; answers the code of the error where there is one. */
async function run(key: string, answer = "answer", tenant = "ten_a"): Promise<string> {
  const keyed = { tenant, key, fingerprint: "f" };
  try {
    const begun = await ledger.begin(keyed, key);
    if (begun.turn === "run") await ledger.end(keyed, begun.effect, answer);
    return begun.turn;
  } catch (error) {
    return error instanceof EspalierError ? error.code : String(error);
  }
}

test("a tenant begins no more keys than it may have at once; those that it has are answered, and others have their own", async () => {
  open(3);
  expect([await run("1"), await run("2"), await run("3")]).toEqual(["run", "run", "run"]);
  expect(await run("4")).toBe("too_many_idempotency_keys");
  const day = bench.settings.idempotencyMs / 1_000;
  const refused = ledger.begin({ ...asked, key: "4" }, "4");
  const error = (await refused.catch((thrown: unknown) => thrown)) as EspalierError;
  expect(error.details).toMatchObject({ limit: "idempotencyKeys", value: 3, current: 3 });
  expect(error.details["retryAfterSeconds"]).toBeGreaterThanOrEqual(day);
  expect(error.details["retryAfterSeconds"]).toBeLessThanOrEqual(day + day / 24);
  expect([await run("1"), await run("1", "answer", "ten_b")]).toEqual(["done", "run"]);
  expect(await bench.bare().keys(`${bench.settings.prefix}:{ten_a}:*`)).toHaveLength(4);
});

test("what is refused and what is taken over counts once, a long answer for several, and what has expired not at all", async () => {
  open(4);
  for (let round = 0; round < 3; round += 1) {
    await ledger.begin(asked, "e1");
    await ledger.refused(asked, "e1");
  }
  for (let round = 0; round < 3; round += 1) {
    await ledger.begin(asked, "e1");
    await ledger.abandon(asked, "e1");
  }
  expect(await run("long", "x".repeat(2 * LIMITS.idempotencyAnswerBytes))).toBe("run");
  expect(await run("more")).toBe("too_many_idempotency_keys");
  await ledger.close();
  open(1, 48);
  const tenant = "ten_brief";
  expect(await run("1", "answer", tenant)).toBe("run");
  await until(async () => (await run("2", "answer", tenant)) === "run");
});

test("keys that come at once do not pass the limit", async () => {
  open(5);
  const turns = await Promise.all(Array.from({ length: 20 }, (_, at) => run(`at once ${at}`)));
  expect(turns.filter((turn) => turn === "run")).toHaveLength(5);
});

test("a key is one request's or one job's, not both", async () => {
  open();
  const client = bench.client();
  const idempotency = { key: "k", fingerprint: "f" };
  await client.submit(request("insert", {}, { idempotency }));
  await expect(ledger.begin(asked, "e1")).rejects.toMatchObject({ code: "idempotency_conflict" });
  await ledger.begin({ ...asked, key: "other" }, "e2");
  const clash = request("insert", {}, { idempotency: { key: "other", fingerprint: "job" } });
  await expect(client.submit(clash)).rejects.toMatchObject({ code: "idempotency_conflict" });
});
