import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { Webhook } from "standardwebhooks";
import { EspalierError, systemClock } from "#core";
import {
  createDeliveries,
  createSecretBox,
  createWebhookPoster,
  JOB_NAMES,
  JOB_SETTINGS,
  startJobWorkers,
  Targets,
  type JobHandler,
  type JobSettings,
} from "#jobs";
import { openStores } from "#stores";
import { deliveryShape, webhookShape } from "../../apps/api/src/wire/webhook.js";
import { sendAttempt } from "../../apps/worker/src/send-attempt.js";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import type { Answer } from "../support/api-client.js";
import { until } from "../support/until.js";
import { answers, startReceiver, type Reception, type WebhookReceiver } from "../support/webhook-receiver.js";

/** Loopback is allowed here under one of its addresses: what a redirect could reach is refused as it would be outside. */
const RULES = { ESPALIER_WEBHOOK_NETWORKS: "127.0.0.1/32", ESPALIER_WEBHOOK_HTTP: "allowed" };

const webhooks: JobSettings["webhooks"] = {
  ...JOB_SETTINGS.webhooks,
  ...{ attempts: 3, retryBaseMs: 20, retryMaxMs: 50, restBaseMs: 5, restMaxMs: 20, requestMs: 200, auditMs: 200 },
};

const insert: JobHandler = async (payload) => {
  if (JSON.stringify(payload).includes("fail")) throw new EspalierError("invalid_text", "no");
  return { revision: 1, inserted: 1, roots: ["nod_secret_contents"] };
};

/** Workers with the product's own sender, and handlers that do nothing else. */
async function startSender(redis: string, folder: string, settings: Partial<JobSettings>) {
  const stores = openStores({ folder });
  const poster = createWebhookPoster(
    new Targets({ networks: [RULES.ESPALIER_WEBHOOK_NETWORKS], http: true }),
    webhooks.requestMs,
  );
  const shared = { redis, clock: systemClock, settings };
  const send = sendAttempt({ poster, box: createSecretBox(), clock: systemClock });
  const deliveries = createDeliveries({ ...shared, send });
  const handlers = Object.values(JOB_NAMES)
    .flat()
    .map((name) => ({
      name,
      handle: (name === "deliver"
        ? (_payload, { tenant, id, signal }) => deliveries.deliver({ tenant, webhook: id }, signal)
        : insert) satisfies JobHandler,
    }));
  const workers = startJobWorkers({
    ...shared,
    payloadStore: stores.blobs,
    roles: ["query", "insert", "score", "maintain"],
    handlers,
  });
  return {
    close: async () => {
      await workers.close({ drainMs: 0, giveBackMs: 1_000 });
      await deliveries.close();
      poster.close();
      await stores.close();
    },
  };
}

let bench: ApiBench;
let receiver: WebhookReceiver;
let memory: string;

beforeAll(async () => {
  receiver = await startReceiver();
  bench = await openApiBench({
    environment: RULES,
    settings: { webhooks, sweepMs: 50 },
    startWorker: (config, settings) => startSender(config.redisUrl, config.dataFolder, settings),
  });
  memory = await bench.client.memory();
});

afterEach(async () => {
  receiver.behave(answers(204));
  receiver.received.length = 0;
  for (const { id } of (await call("GET", "")).body.items) await call("DELETE", `/${id}`);
});

afterAll(async () => {
  await bench.close();
  receiver.close();
});

const call = (method: string, path: string, body?: unknown, more: object = {}): Promise<Answer> =>
  bench.client.call(method, `/v1/webhooks${path}`, { ...(body !== undefined && { body }), ...more });

const make = async (body: object = {}): Promise<{ readonly id: string; readonly secret: string }> => {
  const { status, text, body: made } = await call("POST", "", { url: `${receiver.url}/hook`, ...body });
  if (status !== 201) throw new Error(text);
  return { id: made.id, secret: made["secret"] as string };
};

const runJob = async (type = "Day"): Promise<string> => {
  const { body } = await bench.client.insert(memory, { tree: { type } });
  return body.state === "completed" ? body.id : body.job;
};

const deliveries = async (id: string): Promise<readonly Record<string, unknown>[]> =>
  (await call("GET", `/${id}/deliveries`)).body.items;

const delivery = (id: string, state: string): Promise<Record<string, unknown>> =>
  until(async () => (await deliveries(id)).find((one) => one["state"] === state));

test("the end of a job arrives signed, as the API shows the job, without what the memory holds", async () => {
  const { id, secret } = await make({ name: "crm" });
  const job = await runJob();
  const got = await until(() => receiver.received[0]);
  const shown = await bench.client.call("GET", `/v1/jobs/${job}`);
  const data = Object.fromEntries(Object.entries(shown.body).filter(([name]) => name !== "result"));
  expect(new Webhook(secret).verify(got.body, got.headers as Record<string, string>)).toMatchObject({
    type: "job.completed",
    data,
  });
  expect(data).toMatchObject({ id: job, state: "completed" });
  expect(got.body).not.toContain("nod_secret_contents");
  expect(got.headers["content-type"]).toBe("application/json");
  const told = await delivery(id, "delivered");
  expect(deliveryShape.safeParse(told).error).toBeUndefined();
  expect(told).toMatchObject({ id: got.headers["webhook-id"], job, attempts: 1, responseStatus: 204 });
  const webhook = await call("GET", `/${id}`);
  expect(webhookShape.safeParse(webhook.body).error).toBeUndefined();
  expect(webhook.body).toMatchObject({ name: "crm", enabled: true, lastDeliveredAt: told["deliveredAt"] });
});

test("only what was asked for is told", async () => {
  const { id } = await make({ events: ["failed"], kinds: ["insert"], memory });
  await runJob();
  const failed = await runJob("fail");
  await until(() => receiver.received[0]);
  expect(await deliveries(id)).toMatchObject([{ job: failed, event: "failed" }]);
});

test("a receiver that fails, hangs, cuts the line or answers garbage is tried again under one id, then given up", async () => {
  const bad: Reception[] = [
    answers(500),
    () => undefined,
    (response) => response.destroy(),
    (response) => {
      response.socket?.end("this is no HTTP\r\n\r\n");
    },
    (response) => {
      response.writeHead(200);
      response.write("x");
    },
  ];
  for (const behaviour of bad) {
    receiver.received.length = 0;
    receiver.behave(behaviour);
    const { id } = await make();
    await runJob();
    const dead = await delivery(id, "dead");
    expect(dead).toMatchObject({ attempts: 3, error: expect.any(String) });
    expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual([dead["id"], dead["id"], dead["id"]]);
    expect((await call("GET", `/${id}`)).body["failingSince"]).toBeDefined();
    await call("DELETE", `/${id}`);
  }
});

test("a long answer is not read to its end", async () => {
  const { id } = await make();
  receiver.behave((response) => {
    response.writeHead(200);
    const write = (): void => {
      if (!response.destroyed) response.write("x".repeat(64 * 1024), write);
    };
    write();
  });
  await runJob();
  expect(await delivery(id, "delivered")).toMatchObject({ responseStatus: 200, attempts: 1 });
});

test("redirects are not followed, wherever they lead", async () => {
  const other = await startReceiver();
  for (const location of [`${other.url}/inside`, "http://127.0.0.2:1/", "http://169.254.169.254/latest/", "/again"]) {
    receiver.received.length = 0;
    receiver.behave(answers(307, { location }));
    const { id } = await make();
    await runJob();
    expect(await delivery(id, "dead")).toMatchObject({ responseStatus: 307, error: "The receiver answered 307." });
    expect(receiver.received.every(({ path }) => path === "/hook")).toBe(true);
    await call("DELETE", `/${id}`);
  }
  expect(other.received).toEqual([]);
  other.close();
});

test("an address that is not public is not connected to, however it came into the webhook", async () => {
  const { id } = await make();
  const redis = new Redis({ path: bench.redis.address });
  const [key = ""] = await redis.keys("*:{default}:webhooks");
  const stored = (await redis.hget(key, id)) ?? "";
  await redis.hset(key, id, stored.replace("127.0.0.1", "127.0.0.2"));
  redis.disconnect();
  await runJob();
  expect(await delivery(id, "dead")).toMatchObject({ error: "The address is not public." });
  expect(receiver.received).toEqual([]);
});

test("a webhook may not lead where it must not, and the answer says so", async () => {
  for (const url of [
    "http://169.254.169.254/latest/meta-data/",
    "http://127.0.0.2/",
    "http://10.0.0.1/",
    "http://[::1]/",
    "http://0x7f000002/",
    "ftp://example.com/",
    "nonsense",
  ]) {
    const answer = await call("POST", "", { url });
    expect({ url, status: answer.status, code: answer.body.code }).toEqual({
      ...{ url, status: 422, code: "webhook_url_refused" },
    });
    expect(answer.body.errors).toMatchObject([{ path: "url" }]);
    const { id } = await make();
    const changed = await call("PATCH", `/${id}`, { url });
    expect({ status: changed.status, code: changed.body.code }).toEqual({ status: 422, code: "webhook_url_refused" });
    await call("DELETE", `/${id}`);
  }
  expect((await call("GET", "")).body.items).toEqual([]);
});

test("a secret is shown once, rotates with overlap, and a repeated request shows the same", async () => {
  const headers = { "idempotency-key": "make-webhook" };
  const body = { url: `${receiver.url}/hook` };
  const made = await call("POST", "", body, { headers });
  const again = await call("POST", "", body, { headers });
  expect(again.body).toEqual(made.body);
  expect(made.headers.get("cache-control")).toBe("no-store");
  const { id } = made.body;
  expect((await call("GET", "")).text).not.toContain("whsec_");
  const rotated = await call("POST", `/${id}/rotate`);
  expect(rotated.status).toBe(200);
  await runJob();
  const got = await until(() => receiver.received[0]);
  for (const secret of [made.body["secret"], rotated.body["secret"]]) {
    expect(() => new Webhook(String(secret)).verify(got.body, got.headers as Record<string, string>)).not.toThrow();
  }
  expect(bench.log.join("")).not.toContain("whsec_");
});

test("a delivery can be sent again; a webhook that is disabled gets nothing until it is enabled", async () => {
  const { id } = await make();
  await runJob();
  const first = await delivery(id, "delivered");
  const again = await call("POST", `/${id}/deliveries/${first["id"] as string}/redeliver`);
  expect({ status: again.status, id: again.body.id }).toEqual({ status: 202, id: first["id"] });
  await until(() => receiver.received[1]);
  expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
  const off = await call("PATCH", `/${id}`, { enabled: false });
  expect(off.body).toMatchObject({ enabled: false, disabled: { reason: "asked" } });
  const refused = await call("POST", `/${id}/deliveries/${first["id"] as string}/redeliver`);
  expect({ status: refused.status, code: refused.body.code }).toEqual({ status: 409, code: "webhook_disabled" });
  await runJob();
  expect(await deliveries(id)).toHaveLength(1);
  expect((await call("PATCH", `/${id}`, { enabled: true, events: ["dead"] })).body).toMatchObject({ enabled: true });
  const unknown = await call("POST", `/${id}/deliveries/evt_none/redeliver`);
  expect({ status: unknown.status, code: unknown.body.code }).toEqual({ status: 404, code: "delivery_not_found" });
});

test("deliveries are listed latest first, page by page, by state", async () => {
  const { id } = await make();
  const jobs = [await runJob(), await runJob(), await runJob()].reverse();
  await until(async () => (await call("GET", `/${id}/deliveries?state=delivered`)).body.items[2]);
  const first = await call("GET", `/${id}/deliveries?limit=2`);
  const rest = await call("GET", `/${id}/deliveries?limit=2&cursor=${first.body.nextCursor ?? ""}`);
  expect([...first.body.items, ...rest.body.items].map((one) => (one as never as { job: string }).job)).toEqual(jobs);
  expect(rest.body.nextCursor).toBeUndefined();
  expect((await call("GET", `/${id}/deliveries?state=dead`)).body.items).toEqual([]);
});

test("what is no webhook is refused with every problem", async () => {
  const answer = await call("POST", "", {
    url: "https://example.com",
    events: ["done"],
    kinds: [],
    memory: 1,
    more: 1,
  });
  expect(answer.status).toBe(400);
  expect(answer.body.errors.map(({ path }) => path).sort()).toEqual(["events[0]", "kinds", "memory", "more"]);
  const foreign = await bench.client.memory({}, await bench.key({ tenant: "other" }));
  const unknown = await call("POST", "", { url: "https://example.com", memory: foreign });
  expect({ status: unknown.status, code: unknown.body.code }).toEqual({ status: 404, code: "memory_not_found" });
});

test("a key that is bound to a memory makes, sees and deletes only webhooks of it", async () => {
  const other = await make();
  const key = await bench.key({ scopes: ["admin"], memoryPrefix: memory });
  const url = `${receiver.url}/hook`;
  expect((await call("POST", "", { url }, { key })).status).toBe(403);
  const own = await call("POST", "", { url, memory }, { key });
  expect(own.status).toBe(201);
  expect((await call("GET", "", undefined, { key })).body.items.map(({ id }) => id)).toEqual([own.body.id]);
  expect((await call("DELETE", `/${other.id}`, undefined, { key })).body.code).toBe("webhook_not_found");
  expect((await call("PATCH", `/${own.body.id}`, { memory: null }, { key })).status).toBe(403);
  const reader = await bench.key({ scopes: ["read", "write"] });
  expect((await call("GET", "", undefined, { key: reader })).status).toBe(403);
});
