import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { EspalierError, LIMITS, randomId, systemClock } from "#core";
import { held } from "../held/held.js";
import type { WebhookSettings } from "../settings.js";
import { openJobBench, request, until, untilState, type JobBench } from "../testing/job-bench.js";
import type { JobHandler } from "../types.js";
import { createDeliveries } from "./deliveries.js";
import { createSecretBox } from "./secret-box.js";
import { END_STATES } from "./types.js";
import type { Attempt, AttemptAnswer, Delivery, DeliveryOutcome, WebhookWish } from "./types.js";
import { createWebhooks, type Webhooks } from "./webhooks.js";

const box = createSecretBox("key");
const closing: (() => Promise<void>)[] = [];

let bench: JobBench;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
  await bench.reset();
});
afterAll(() => bench.close());

const WISH: WebhookWish = {
  url: "https://example.com/hook",
  events: END_STATES,
  kinds: ["query", "insert", "score", "maintain"],
};

const QUICK: WebhookSettings = {
  ...{ attempts: 3, retryBaseMs: 20, retryMaxMs: 50, restBaseMs: 5, restMaxMs: 10, disableAfterMs: 60_000 },
  ...{ requestMs: 1_000, turnMs: 1_000, auditMs: 100 },
};

const settings = (webhooks: Partial<WebhookSettings> = {}) => ({
  ...bench.settings,
  webhooks: { ...QUICK, ...webhooks },
});

function openWebhooks(): Webhooks {
  const webhooks = createWebhooks({ redis: bench.redis.address, clock: systemClock, box, settings: settings() });
  closing.push(() => webhooks.close());
  return webhooks;
}

/** What the tries of a test came to. */
let outcomes: DeliveryOutcome[] = [];

/** Workers that deliver by `send`, and run inserts by `insert`. */
async function work(
  send: (attempt: Attempt, signal: AbortSignal) => Promise<AttemptAnswer>,
  options: { readonly insert?: JobHandler; readonly webhooks?: Partial<WebhookSettings> } = {},
): Promise<Attempt[]> {
  const sent: Attempt[] = [];
  outcomes = [];
  const deliveries = createDeliveries({
    ...{ redis: bench.redis.address, clock: systemClock, settings: settings(options.webhooks) },
    send: (attempt, signal) => {
      sent.push(attempt);
      return send(attempt, signal);
    },
    onOutcome: (outcome) => outcomes.push(outcome),
  });
  closing.push(() => deliveries.close());
  await bench.workers({
    deliver: async (_payload, { id, tenant, signal }) => deliveries.deliver({ tenant, webhook: id }, signal),
    ...(options.insert !== undefined && { insert: options.insert }),
  });
  return sent;
}

const ok = async (): Promise<AttemptAnswer> => ({ status: 200 });

const log = (webhooks: Webhooks, id: string, query: object = {}): Promise<readonly Delivery[]> =>
  webhooks.deliveries("ten_a", id, { limit: 100, ...query });

/** The one delivery of a webhook once it is in a state. */
const settled = (webhooks: Webhooks, id: string, state: Delivery["state"]): Promise<Delivery> =>
  until(async () => (await log(webhooks, id)).find((delivery) => delivery.state === state));

test("each end of a job is told once, with the job as it ended, without its result", async () => {
  const webhooks = openWebhooks();
  const { webhook, secret } = await webhooks.create("ten_a", "whk_1", WISH);
  const fail = new EspalierError("invalid_text", "no");
  const sent = await work(ok, {
    insert: async (payload) => {
      if (payload === "fail") throw fail;
      return { secret: "contents" };
    },
  });
  const client = bench.client();
  const completed = await client.submitAndWait(request("insert", "work"), 5_000);
  const failed = await client.submitAndWait(request("insert", "fail"), 5_000);
  const queued = await client.submit(request("query"));
  await client.cancel("ten_a", queued.id);
  await client.cancel("ten_a", queued.id);
  await until(() => sent.length >= 3);
  expect(sent.map(({ event }) => event)).toEqual(["completed", "failed", "cancelled"]);
  expect(new Set(sent.map(({ id }) => id)).size).toBe(3);
  const record = { ...(await client.get("ten_a", completed.id)), result: undefined };
  expect(sent[0]).toMatchObject({ url: WISH.url, secrets: [expect.stringMatching(/^sealed:/)] });
  expect(sent[0]!.record).toEqual(record);
  expect(JSON.stringify(sent)).not.toContain("contents");
  expect(box.open(sent[0]!.secrets[0]!)).toBe(secret);
  expect(sent[1]!.record).toMatchObject({ id: failed.id, error: { code: "invalid_text" } });
  await until(async () => (await log(webhooks, webhook.id, { state: "delivered" })).length === 3);
  expect(await log(webhooks, webhook.id)).toMatchObject([
    { job: queued.id, event: "cancelled", state: "delivered", attempts: 1, status: 200 },
    { job: failed.id, event: "failed" },
    { job: completed.id, event: "completed" },
  ]);
});

test("a webhook hears of the events, kinds and memory that it asked for, and of its own tenant", async () => {
  const webhooks = openWebhooks();
  await webhooks.create("ten_a", "whk_dead", { ...WISH, events: ["dead"] });
  await webhooks.create("ten_a", "whk_query", { ...WISH, kinds: ["query"] });
  await webhooks.create("ten_a", "whk_memory", { ...WISH, memory: "mem_2" });
  await webhooks.create("ten_b", "whk_b", WISH);
  await bench.workers({ insert: async () => 1 });
  const client = bench.client();
  await client.submitAndWait(request("insert"), 5_000);
  await client.submitAndWait(request("insert", {}, { memory: "mem_2" }), 5_000);
  const counts = ["whk_dead", "whk_query", "whk_memory"].map(async (id) => (await log(webhooks, id)).length);
  expect(await Promise.all(counts)).toEqual([0, 0, 1]);
  expect(await webhooks.deliveries("ten_b", "whk_b", { limit: 10 })).toEqual([]);
});

test("the deliveries of an end are there as soon as the end is, also when nobody was told of them", async () => {
  const webhooks = openWebhooks();
  await webhooks.create("ten_a", "whk_1", WISH);
  await bench.workers({ insert: async () => 1 });
  const { id } = await bench.client().submitAndWait(request("insert"), 5_000);
  expect(await log(webhooks, "whk_1")).toMatchObject([{ job: id, state: "pending", attempts: 0 }]);
  // As after the death of the process that ended the job.
  const bare = bench.bare();
  await bare.del(`{${bench.settings.prefix}-webhooks}:times`);
  for (const key of await bare.keys(`{${bench.settings.prefix}-deliver}:*`)) await bare.del(key);
  const sent = await work(ok);
  await settled(webhooks, "whk_1", "delivered");
  expect(sent).toHaveLength(1);
});

test("a held job is told of when it is released", async () => {
  const webhooks = openWebhooks();
  await webhooks.create("ten_a", "whk_1", WISH);
  const client = bench.client();
  const background = bench.background();
  await bench.workers({ insert: async () => held("later") });
  const { id } = await client.submit(request("insert"));
  await until(async () => (await background.held.take(10)).length === 1);
  expect(await log(webhooks, "whk_1")).toEqual([]);
  await background.held.release({ tenant: "ten_a", job: id }, { state: "completed" });
  expect(await log(webhooks, "whk_1")).toMatchObject([{ job: id, event: "completed" }]);
});

test("a receiver that fails is tried again under the same id, then the delivery is dead and says why; it can be sent again", async () => {
  const webhooks = openWebhooks();
  await webhooks.create("ten_a", "whk_1", WISH);
  const receiver = { status: 500 };
  const answer = async (): Promise<AttemptAnswer> =>
    receiver.status < 300 ? { status: receiver.status } : { status: receiver.status, error: "It answered no." };
  const sent = await work(answer, { insert: async () => 1 });
  await bench.client().submitAndWait(request("insert"), 5_000);
  const dead = await settled(webhooks, "whk_1", "dead");
  expect(dead).toMatchObject({ attempts: 3, status: 500, error: "It answered no." });
  expect(dead).not.toHaveProperty("nextAt");
  expect(sent.map(({ id }) => id)).toEqual([dead.id, dead.id, dead.id]);
  expect((await webhooks.get("ten_a", "whk_1")).failingSince).toBeDefined();
  receiver.status = 204;
  expect(await webhooks.redeliver("ten_a", "whk_1", dead.id)).toMatchObject({ state: "pending", attempts: 0 });
  const delivered = await settled(webhooks, "whk_1", "delivered");
  expect(delivered).toMatchObject({ id: dead.id, status: 204, attempts: 1 });
  expect(delivered).not.toHaveProperty("error");
  expect(sent).toHaveLength(4);
  await until(() => outcomes.length >= 4);
  expect(outcomes).toEqual(["retried", "retried", "dead", "delivered"]);
  const shown = await webhooks.get("ten_a", "whk_1");
  expect(shown.deliveredAt).toBe(delivered.deliveredAt);
  expect(shown).not.toHaveProperty("failingSince");
});

test("a request that was made and not recorded is made again under the same id", async () => {
  const webhooks = openWebhooks();
  await webhooks.create("ten_a", "whk_1", WISH);
  let requests = 0;
  // The first worker never comes back from its request: another takes its job over when the lock expires.
  const first = Promise.withResolvers<AttemptAnswer>();
  const sent = await work(() => (requests++ === 0 ? first.promise : ok()), { insert: async () => 1 });
  await bench.client().submitAndWait(request("insert"), 5_000);
  await until(() => sent.length === 1);
  const bare = bench.bare();
  const lock = `{${bench.settings.prefix}-deliver}:deliver:ten_a.whk_1:lock`;
  const delivered = await until(async () => {
    await bare.del(lock);
    return (await log(webhooks, "whk_1", { state: "delivered" }))[0];
  });
  expect(sent.map(({ id }) => id)).toEqual([delivered.id, delivered.id]);
  expect(delivered.attempts).toBe(2);
  // Its late answer changes nothing.
  first.resolve({ status: 500, error: "late" });
  expect(await log(webhooks, "whk_1")).toMatchObject([{ state: "delivered", status: 200 }]);
});

test("a webhook that answers 410, or fails for long, is disabled and says so; enabling it forgets that", async () => {
  const webhooks = openWebhooks();
  await webhooks.create("ten_a", "whk_gone", { ...WISH, url: "https://gone.example/" });
  await webhooks.create("ten_a", "whk_long", { ...WISH, url: "https://long.example/" });
  await work(async ({ url }) => ({ status: url.includes("gone") ? 410 : 500, error: "no" }), {
    insert: async () => 1,
    webhooks: { disableAfterMs: 0 },
  });
  const client = bench.client();
  await client.submitAndWait(request("insert"), 5_000);
  const disabled = (id: string) => until(async () => (await webhooks.get("ten_a", id)).disabled);
  expect(await disabled("whk_gone")).toMatchObject({ reason: "gone" });
  expect(await disabled("whk_long")).toMatchObject({ reason: "failing" });
  expect(await settled(webhooks, "whk_gone", "dead")).toMatchObject({ attempts: 1, status: 410 });
  expect(await settled(webhooks, "whk_long", "dead")).toMatchObject({ error: "The webhook is disabled." });
  await until(() => outcomes.length >= 3);
  expect(outcomes.toSorted()).toEqual(["dead", "dead", "retried"]);
  await client.submitAndWait(request("insert"), 5_000);
  expect(await log(webhooks, "whk_gone")).toHaveLength(1);
  const [dead] = await log(webhooks, "whk_gone");
  await expect(webhooks.redeliver("ten_a", "whk_gone", dead!.id)).rejects.toMatchObject({ code: "webhook_disabled" });
  const enabled = await webhooks.change("ten_a", "whk_gone", { enabled: true });
  expect(enabled).not.toHaveProperty("disabled");
  expect(enabled).not.toHaveProperty("failingSince");
});

test("a webhook for which more waits than is kept is disabled, and nothing that waits is dropped", async () => {
  const webhooks = openWebhooks();
  await webhooks.create("ten_a", "whk_1", WISH);
  const base = `${bench.settings.prefix}:{ten_a}:webhooks:whk_1`;
  const many = Array.from({ length: LIMITS.webhookDeliveries }, (_, at) => [at + 1, `evt_${at}`]).flat();
  const bare = bench.bare();
  await bare.zadd(`${base}:log`, ...many);
  await bare.zadd(`${base}:due`, 1, "evt_0");
  await bench.workers({ insert: async () => 1 });
  const client = bench.client();
  await client.submitAndWait(request("insert"), 5_000);
  expect((await webhooks.get("ten_a", "whk_1")).disabled).toMatchObject({ reason: "backlog" });
  expect(await bare.zcard(`${base}:log`)).toBe(LIMITS.webhookDeliveries);
  // Where the oldest was delivered, it makes room.
  await bare.del(`${base}:due`);
  await webhooks.change("ten_a", "whk_1", { enabled: true });
  const { id } = await client.submitAndWait(request("insert"), 5_000);
  expect(await log(webhooks, "whk_1")).toMatchObject([{ job: id }]);
  expect(await bare.zcard(`${base}:log`)).toBe(LIMITS.webhookDeliveries);
});

test("a webhook that hangs keeps no other waiting, and is asked by few requests at once", async () => {
  const webhooks = openWebhooks();
  await webhooks.create("ten_a", "whk_slow", { ...WISH, url: "https://slow.example/" });
  const running = { now: 0, most: 0 };
  const hang = Promise.withResolvers<AttemptAnswer>();
  const sent = await work(
    async ({ url }) => {
      if (!url.includes("slow")) return ok();
      running.most = Math.max(running.most, ++running.now);
      return hang.promise;
    },
    { insert: async () => 1 },
  );
  const client = bench.client();
  await Promise.all(
    Array.from({ length: 3 * LIMITS.webhookRequests }, () => client.submitAndWait(request("insert"), 5_000)),
  );
  await until(() => sent.length > 0);
  await webhooks.create("ten_b", "whk_other", WISH);
  await client.submitAndWait(request("insert", {}, { tenant: "ten_b" }), 5_000);
  await until(() => sent.some(({ url }) => url === WISH.url));
  expect(running.most).toBeLessThanOrEqual(LIMITS.webhookRequests);
  hang.resolve({ status: 200 });
  await until(
    async () => (await log(webhooks, "whk_slow", { state: "delivered" })).length === 3 * LIMITS.webhookRequests,
  );
});

test("webhooks are made, listed, changed, rotated and removed, by their own tenant only, and only so many", async () => {
  const webhooks = openWebhooks();
  const [older, newer] = [randomId("whk"), randomId("whk")].toSorted();
  const made = await webhooks.create("ten_a", older!, { ...WISH, name: "first", memory: "mem_1" });
  await webhooks.create("ten_a", newer!, WISH);
  expect((await webhooks.list("ten_a")).map(({ id }) => id)).toEqual([newer, older]);
  expect(await webhooks.get("ten_a", older!)).toEqual(made.webhook);
  expect(JSON.stringify(await webhooks.list("ten_a"))).not.toContain("whsec_");
  for (const call of ["get", "rotate", "remove"] as const) {
    await expect(webhooks[call]("ten_b", older!)).rejects.toMatchObject({ code: "webhook_not_found" });
  }
  const changed = await webhooks.change("ten_a", older!, {
    name: null,
    memory: null,
    events: ["dead"],
    enabled: false,
  });
  expect(changed).toMatchObject({ events: ["dead"], disabled: { reason: "asked" } });
  expect(changed).not.toHaveProperty("name");
  expect(changed).not.toHaveProperty("memory");
  const names = Array.from({ length: 10 }, (_, at) => `name ${at}`);
  await Promise.all(names.map((name) => webhooks.change("ten_a", older!, { name })));
  expect(names).toContain((await webhooks.get("ten_a", older!)).name);
  const rotated = await webhooks.rotate("ten_a", newer!);
  expect(rotated.secret).not.toBe(made.secret);
  await webhooks.remove("ten_a", older!);
  await expect(webhooks.remove("ten_a", older!)).rejects.toMatchObject({ code: "webhook_not_found" });
  await expect(log(webhooks, older!)).rejects.toMatchObject({ code: "webhook_not_found" });
  for (let count = 1; count < LIMITS.webhooks; count += 1) await webhooks.create("ten_a", randomId("whk"), WISH);
  await expect(webhooks.create("ten_a", randomId("whk"), WISH)).rejects.toMatchObject({ code: "too_many_webhooks" });
});

test("after a rotation both secrets sign; removing a webhook removes all of its keys", async () => {
  const webhooks = openWebhooks();
  const { secret } = await webhooks.create("ten_a", "whk_1", WISH);
  const rotated = await webhooks.rotate("ten_a", "whk_1");
  const sent = await work(ok, { insert: async () => 1 });
  const client = bench.client();
  const { id } = await client.submitAndWait(request("insert"), 5_000);
  await settled(webhooks, "whk_1", "delivered");
  expect(sent[0]!.secrets.map((sealed) => box.open(sealed))).toEqual([rotated.secret, secret]);
  await webhooks.remove("ten_a", "whk_1");
  await untilState(client, id, "completed");
  expect(await bench.bare().keys(`${bench.settings.prefix}:{ten_a}:webhooks*`)).toEqual([]);
  await until(async () => (await bench.bare().scard(`{${bench.settings.prefix}-webhooks}:list`)) === 0);
});
