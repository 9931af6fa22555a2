import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { openJobBench, request, type JobBench } from "../testing/job-bench.js";
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

const open = (): RequestLedger => {
  ledger = createRequestLedger({ redis: bench.redis.address, settings: bench.settings });
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
  const entry = (await bench.bare().keys(`${bench.settings.prefix}:*idempotency*`))[0]!;
  await bench.bare().hset(entry, "leaseUntil", Date.now() - 1);
  expect(await ledger.begin(asked, "e3")).toEqual({ turn: "run", effect: "e1" });
  await ledger.end(asked, "e1", "answer");
  await ledger.abandon(asked, "e1");
  expect(await ledger.begin(asked, "e4")).toEqual({ turn: "done", answer: "answer" });
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
