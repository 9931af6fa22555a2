import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import { JOB_SETTINGS, type JobSettings } from "#jobs";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import { until } from "../support/until.js";

let bench: ApiBench;
let memory = "";
let failing = true;
const effects: string[] = [];

/** As the product's, with attempts that follow each other at once. */
const SETTINGS: Partial<JobSettings> = {
  queues: { ...JOB_SETTINGS.queues, insert: { ...JOB_SETTINGS.queues.insert, attempts: 2, retryBaseMs: 5 } },
};

beforeAll(async () => {
  bench = await openApiBench({
    settings: SETTINGS,
    handlers: {
      insert: async (_payload, { effectId }) => {
        if (failing) throw new EspalierError("store_unavailable", "The store is away.");
        effects.push(effectId);
        return { revision: 1, inserted: 1, roots: [] };
      },
    },
  });
});
beforeEach(async () => {
  failing = true;
  memory = await bench.client.memory();
});
afterAll(() => bench.close());

async function bury(): Promise<string> {
  const { body } = await bench.client.call("POST", `/v1/memories/${memory}/insert`, {
    body: { tree: { type: "Day" } },
  });
  await ended(body.id, "dead");
  return body.id;
}

const ended = (id: string, state: string): Promise<unknown> =>
  until(async () => (await bench.client.call("GET", `/v1/jobs/${id}`)).body.state === state || undefined);

test("what was given up is listed with its errors, and replayed under the effects of the first job", async () => {
  const id = await bury();
  const { body: page } = await bench.client.call("GET", `/v1/dead-letters?memory=${memory}`);
  expect(page.items).toMatchObject([
    { id, attempts: 2, state: "dead", error: { code: "store_unavailable" }, firstError: { code: "store_unavailable" } },
  ]);
  failing = false;
  const replay = await bench.client.call("POST", `/v1/dead-letters/${id}/replay`);
  expect(replay.status).toBe(202);
  expect(replay.headers.get("location")).toBe(`/v1/jobs/${replay.body.id}`);
  expect(replay.body).toMatchObject({ replayOf: id, memory, kind: "insert" });
  await ended(replay.body.id, "completed");
  expect(effects.at(-1)).toBe(id);
  const again = await bench.client.call("POST", `/v1/jobs/${id}/retry`);
  expect([again.status, again.body.id]).toEqual([202, replay.body.id]);
  expect((await bench.client.call("GET", `/v1/dead-letters?memory=${memory}`)).body.items).toEqual([]);
  const refused = await bench.client.call("POST", `/v1/jobs/${replay.body.id}/retry`);
  expect([refused.status, refused.body.code]).toEqual([409, "job_not_failed"]);
});

test("letters are replayed by filter, at most so many", async () => {
  const ids = [await bury(), await bury(), await bury()];
  failing = false;
  const replay = (body: object) => bench.client.call("POST", "/v1/dead-letters/replay", { body });
  const first = await replay({ memory, limit: 2 });
  expect(first.status).toBe(202);
  expect(first.body.items).toMatchObject([{ replayOf: ids[2] }, { replayOf: ids[1] }]);
  expect((await replay({ memory })).body.items).toMatchObject([{ replayOf: ids[0] }]);
  expect((await replay({ memory })).body.items).toEqual([]);
  expect((await replay({ kind: "dance" })).body.code).toBe("invalid_request");
});

test("another tenant, and a key that only reads, replay nothing", async () => {
  const id = await bury();
  const key = await bench.key({ tenant: "ten_other" });
  expect((await bench.client.call("POST", `/v1/dead-letters/${id}/replay`, { key })).body.code).toBe("job_not_found");
  expect((await bench.client.call("GET", "/v1/dead-letters", { key })).body.items).toEqual([]);
  const reader = await bench.key({ scopes: ["read"] });
  expect((await bench.client.call("POST", `/v1/jobs/${id}/retry`, { key: reader })).status).toBe(403);
});
