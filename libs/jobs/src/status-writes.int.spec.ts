import { setImmediate, setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Redis } from "ioredis";
import { startRedis, type TestRedis } from "../../../test/support/redis.js";
import { until } from "../../../test/support/until.js";
import { jobKeys, type JobKeys } from "./keys.js";
import { connectRedis } from "./redis.js";
import { keepEnded, JOB_SETTINGS } from "./settings.js";
import { StatusWrites, type JobEnd, type NewStatus, type RunStart } from "./status-writes.js";

let server: TestRedis;
let redis: Redis;
let prefixes = 0;
beforeAll(async () => {
  server = await startRedis();
  redis = connectRedis(server.address, "worker");
});
afterAll(async () => {
  redis.disconnect();
  await server.close();
});

interface Opened {
  readonly writes: StatusWrites;
  readonly keys: JobKeys;
  /** That is woken of some of its jobs. */
  readonly channel: string;
}

function open(settings: Partial<typeof JOB_SETTINGS> = {}): Opened {
  const prefix = `writes-${(prefixes += 1)}`;
  const keys = jobKeys(prefix);
  const writes = new StatusWrites({ redis, keys, settings: { ...JOB_SETTINGS, ...settings }, cluster: false });
  return { writes, keys, channel: `${prefix}:wake` };
}

const record = (tenant: string, id: string, kind: "query" | "insert" = "insert"): NewStatus["record"] => ({
  ...{ tenant, id, kind, createdAt: 1_700_000_000_000, memory: `mem_${id}` },
});

const start = (tenant: string, id: string, attempt = 1): RunStart => ({
  ...{ record: record(tenant, id), attempt, startedAt: 1_700_000_001_000 },
});

function end(tenant: string, id: string, more: Partial<JobEnd> = {}): JobEnd {
  const state = more.state ?? "completed";
  return {
    ...{ tenant, id, kind: "insert", state, attempt: 1, keep: keepEnded(JOB_SETTINGS, state) },
    stored: { effect: id, nodes: 0, bytes: 0 },
    fields: ["startedAt", 1_700_000_001_000, "finishedAt", 1_700_000_002_000, "result", '"done"'],
    ...more,
  };
}

describe("writes that go together", () => {
  test("each new status has its own answer, whatever became of its neighbours", async () => {
    const { writes } = open();
    const keyed = (tenant: string, id: string, fingerprint: string, most?: number): NewStatus => ({
      ...{ record: record(tenant, id), idempotency: { key: "k", fingerprint, most } },
    });
    const other = (id: string, most: number): NewStatus => ({
      ...{ record: record("ten_b", id), idempotency: { key: id, fingerprint: "f", most } },
    });
    const statuses = [
      keyed("ten_a", "job_1", "f"),
      other("job_2", 1),
      { record: record("ten_a", "job_3") },
      ...[keyed("ten_a", "job_4", "f"), other("job_5", 1), keyed("ten_a", "job_6", "g")],
    ];
    const answers = await Promise.all(statuses.map((status) => writes.submit(status)));
    expect(answers).toEqual([
      ...[
        ["new", "job_1"],
        ["new", "job_2"],
        ["new", "job_3"],
        ["repeat", "job_1"],
      ],
      ["full", 1, expect.any(Number)],
      ["conflict", "job_1"],
    ]);
  });

  test("an end that is refused keeps no other from ending", async () => {
    const { writes, keys } = open();
    const ids = ["job_1", "job_2", "job_3", "job_4", "job_5"];
    await Promise.all(ids.map((id) => writes.submit({ record: record("ten_a", id) })));
    await writes.start(start("ten_a", "job_2", 2));
    await writes.finish(end("ten_a", "job_3", { state: "failed" }));
    await redis.hset(keys.job("ten_a", "job_4"), "held", "1");
    const ends = [...ids, "job_6"].map((id) => writes.finish(end("ten_a", id)));
    const others = [writes.finish(end("ten_b", "job_7")), writes.finish(end("ten_a", "job_1", { state: "failed" }))];
    const answers = (await Promise.all([...ends, ...others])).map(({ answer }) => answer);
    expect(answers).toEqual(["ok", "fenced", "ended", "held", "ok", "gone", "gone", "ended"]);
    const states = await Promise.all(ids.map((id) => redis.hget(keys.job("ten_a", id), "state")));
    expect(states).toEqual(["completed", "active", "failed", "queued", "completed"]);
    const day = await redis.keys(`${keys.usage("ten_a")}:*`);
    expect(await redis.hgetall(day[0] ?? "")).toEqual({ "insert:completed": "2", "insert:failed": "1" });
    expect(await redis.keys(`${keys.own("ten_b")}*`)).toEqual([]);
  });

  test("an end whose answer was lost is told again, and has happened once", async () => {
    const { writes, keys } = open();
    await writes.submit({ record: record("ten_a", "job_1") });
    const told = end("ten_a", "job_1", { stored: { effect: "job_1", nodes: 3, bytes: 30 } });
    const answers = [await writes.finish(told), await writes.finish(told)];
    expect(answers.map(({ answer }) => answer)).toEqual(["ok", "ok"]);
    const later = await Promise.all([
      writes.finish({ ...told, attempt: 2 }),
      writes.finish({ ...told, state: "failed" }),
    ]);
    expect(later.map(({ answer }) => answer)).toEqual(["ended", "ended"]);
    const [day = ""] = await redis.keys(`${keys.usage("ten_a")}:*`);
    expect(await redis.hgetall(day)).toEqual({ "insert:completed": "1", nodes: "3", bytes: "30" });
    expect(await redis.llen(`${keys.own("ten_a")}kept:ended`)).toBe(1);
  });

  test("a tenant stays in its budget however many ends come together, and the last is kept", async () => {
    const { writes, keys } = open();
    const keep = { ms: 60_000, bytes: 256 * 1_024 };
    const kept = `${keys.own("ten_a")}kept:ended`;
    const endAll = async (ids: readonly string[], result: string): Promise<void> => {
      await Promise.all(ids.map((id) => writes.submit({ record: record("ten_a", id) })));
      await Promise.all(ids.map((id) => writes.finish(end("ten_a", id, { keep, fields: ["result", result] }))));
      const entries = (await redis.lrange(kept, 0, -1)).map((entry) => entry.split(":"));
      // Each begins where the one before it ends.
      for (const [at, [before, bytes]] of entries.entries()) {
        const next = entries[at + 1];
        if (next !== undefined) expect(Number(next[0])).toBe(Number(before) + Number(bytes));
      }
      const sum = entries.reduce((total, [, bytes]) => total + Number(bytes), 0);
      expect(sum).toBeLessThanOrEqual(keep.bytes);
      expect(entries.at(-1)?.[2]).toBe(ids.at(-1));
      const left = await redis.keys(keys.job("ten_a", "*"));
      expect(left.toSorted()).toEqual(entries.map(([, , id = ""]) => keys.job("ten_a", id)).toSorted());
    };
    const named = (from: number, count: number): string[] =>
      Array.from({ length: count }, (_, at) => `job_${String(from + at).padStart(4, "0")}`);
    await endAll(named(0, 300), "1");
    for (let from = 1_000; from < 1_030; from += 10) await endAll(named(from, 10), "x".repeat(20 * 1_024));
    await endAll(named(2_000, 30), "y".repeat(40 * 1_024));
  });

  test("a budget that became smaller is come down to in steps", async () => {
    const { writes, keys } = open();
    const ids = Array.from({ length: 300 }, (_, at) => `job_${at}`);
    await Promise.all(ids.map((id) => writes.submit({ record: record("ten_a", id) })));
    await Promise.all(ids.map((id) => writes.finish(end("ten_a", id))));
    const left: number[] = [];
    for (const id of ["job_x", "job_y", "job_z"]) {
      await writes.submit({ record: record("ten_a", id) });
      await writes.finish(end("ten_a", id, { keep: { ms: 60_000, bytes: 1 } }));
      left.push(await redis.llen(`${keys.own("ten_a")}kept:ended`));
    }
    // 100, and one or two for what each brings.
    expect(left[0]).toBeLessThan(210);
    expect(left[0]).toBeGreaterThan(190);
    expect(left.at(-1)).toBe(1);
  });

  test("a full Redis refuses those that need room, and answers their neighbours", async () => {
    const { writes } = open();
    const keyed: NewStatus = {
      ...{ record: record("ten_a", "job_1"), idempotency: { key: "k", fingerprint: "f" } },
    };
    await writes.submit(keyed);
    await writes.finish(end("ten_a", "job_1"));
    await redis.config("SET", "maxmemory", "1");
    try {
      const [repeat, fresh, again, other] = await Promise.allSettled([
        writes.submit({ ...keyed, record: record("ten_a", "job_2") }),
        writes.submit({ record: record("ten_b", "job_3") }),
        writes.start(start("ten_a", "job_1")),
        writes.start(start("ten_b", "job_3")),
      ]);
      expect(repeat).toMatchObject({ value: ["repeat", "job_1"] });
      expect(again).toMatchObject({ value: "ended" });
      expect([fresh.status, other.status]).toEqual(["rejected", "rejected"]);
    } finally {
      await redis.config("SET", "maxmemory", "0");
    }
  });

  test("what comes to its turn when its caller was told that it did not come is not sent", async () => {
    const { writes, keys } = open({ callTimeoutMs: 100 });
    const submit = (id: string): Promise<unknown> => writes.submit({ record: record("ten_a", id) });
    server.freeze();
    const first = submit("job_first");
    await setImmediate();
    // A call is under way: as many as go together wait for it, and one more for them.
    const ids = Array.from({ length: 33 }, (_, at) => `job_${at}`);
    const submits = ids.map(submit);
    await setTimeout(300);
    server.thaw();
    await first;
    const told = await Promise.allSettled(submits);
    const late = told.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as unknown] : []));
    expect(told.at(-1)?.status).toBe("rejected");
    expect(late).toEqual(late.map(() => expect.objectContaining({ code: "queue_unavailable" }) as unknown));
    const there = await Promise.all(ids.map((id) => redis.exists(keys.job("ten_a", id))));
    expect(there).toEqual(told.map(({ status }) => (status === "fulfilled" ? 1 : 0)));
  });

  test("a replay that has run is not begun again by one who chose the same job", async () => {
    const { writes, keys } = open();
    const again: NewStatus = { record: { ...record("ten_a", "job_2"), replayOf: "job_1" } };
    expect(await writes.submit(again)).toEqual(["new", "job_2"]);
    await writes.start(start("ten_a", "job_2", 2));
    await writes.finish(end("ten_a", "job_2", { attempt: 2 }));
    expect(await writes.submit(again)).toEqual(["new", "job_2"]);
    expect(await redis.hgetall(keys.job("ten_a", "job_2"))).toMatchObject({ state: "completed", attempts: "2" });
  });

  test("a webhook hears of each that ended, and other tenants' webhooks of none", async () => {
    const { writes, keys } = open();
    const hook = { events: ["completed"], kinds: ["insert"], url: "https://example.com", createdAt: 0, secrets: [] };
    const ids = ["job_1", "job_2"];
    for (const tenant of ["ten_a", "ten_b"]) {
      await redis.hset(keys.webhooks(tenant), `whk_${tenant}`, JSON.stringify(hook));
      await Promise.all(ids.map((id) => writes.submit({ record: record(tenant, id) })));
    }
    const told = await Promise.all([
      ...ids.map((id) => writes.finish(end("ten_a", id))),
      writes.finish(end("ten_b", "job_1", { state: "failed" })),
    ]);
    expect(told.map(({ webhooks }) => webhooks)).toEqual([["whk_ten_a"], [], []]);
    expect(await redis.zrange(`${keys.webhooks("ten_a")}:whk_ten_a:due`, "0", "-1")).toEqual(["evt_1", "evt_2"]);
    expect(await redis.keys(`${keys.webhooks("ten_b")}:*`)).toEqual([]);
  });

  test("what is large goes by itself", async () => {
    const { writes, keys } = open();
    const ids = ["job_1", "job_2", "job_3"];
    await Promise.all(ids.map((id) => writes.submit({ record: record("ten_a", id) })));
    const large = "x".repeat(700 * 1_024);
    await redis.config("RESETSTAT");
    await Promise.all(ids.map((id) => writes.finish(end("ten_a", id, { fields: ["result", large] }))));
    const [, calls] = /cmdstat_evalsha:calls=(\d+)/.exec(await redis.info("commandstats")) ?? [];
    expect(calls).toBe("3");
    expect(await redis.hstrlen(keys.job("ten_a", "job_3"), "result")).toBe(large.length);
  });
});

const TENANTS = ["ten_a", "ten_b", "ten_c"];
const IDS = ["job_1", "job_2", "job_3", "job_4"];
const STATES = ["completed", "failed", "dead", "cancelled"] as const;

/** What others did to a job meanwhile. */
const MARKS = ["cancel", "held", "followed"] as const;
type Job = readonly [tenant: string, id: string];
type Marked = readonly [tenant: string, id: string, mark: (typeof MARKS)[number]];
/** A new status; whether it is watched from its beginning. */
type Submit = Omit<NewStatus, "watch"> & { readonly watched: boolean };

type Step =
  | { readonly what: "submit"; readonly items: readonly Submit[] }
  | { readonly what: "start"; readonly items: readonly RunStart[] }
  | { readonly what: "finish"; readonly items: readonly JobEnd[] }
  | { readonly what: "mark"; readonly items: readonly Marked[] };

/** A step whose jobs are each there once, as a process has them, each with something of its own. */
function stepOf<T, Item>(more: fc.Arbitrary<T>, itemOf: (job: Job, more: T) => Item): fc.Arbitrary<readonly Item[]> {
  const one = fc.tuple(fc.constantFrom(...TENANTS), fc.constantFrom(...IDS), more);
  return fc
    .uniqueArray(one, { minLength: 1, maxLength: 8, selector: ([tenant, id]) => `${tenant}.${id}` })
    .map((all) => all.map(([tenant, id, of]) => itemOf([tenant, id], of)));
}

const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });

const again = (tenant: string, id: string, replayOf: string | undefined): NewStatus["record"] => ({
  ...record(tenant, id),
  ...(replayOf !== undefined && { replayOf }),
});

const replayed = optional(fc.constant("job_0"));

const submits: fc.Arbitrary<Step> = stepOf(
  fc.record({
    watched: fc.boolean(),
    replayOf: replayed,
    idempotency: optional(
      fc.record({
        key: fc.constantFrom("k", "l"),
        fingerprint: fc.constantFrom("f", "g"),
        most: optional(fc.constant(1)),
      }),
    ),
  }),
  ([tenant, id], { replayOf, ...rest }): Submit => ({ record: again(tenant, id, replayOf), ...rest }),
).map((items) => ({ what: "submit", items }));

const starts: fc.Arbitrary<Step> = stepOf(
  fc.record({ attempt: fc.integer({ min: 1, max: 3 }), replayOf: replayed }),
  ([tenant, id], { attempt, replayOf }): RunStart => ({
    ...start(tenant, id, attempt),
    record: again(tenant, id, replayOf),
  }),
).map((items) => ({ what: "start", items }));

const finishes: fc.Arbitrary<Step> = stepOf(
  fc.record({
    attempt: fc.constantFrom(1, 3, 3),
    state: fc.constantFrom("completed", "completed", "completed", ...STATES),
    kind: fc.constantFrom("insert", "insert", "insert", "query"),
    nodes: fc.constantFrom(0, 7),
    effect: optional(fc.constantFrom(...IDS)),
    fields: fc.constantFrom(
      ["startedAt", 1, "finishedAt", 2, "result", '{"rows":[]}'],
      ["finishedAt", 2, "done", 3, "total", 4, "result", "x".repeat(JOB_SETTINGS.wakeBytes + 1)],
      ["startedAt", 1, "finishedAt", 2, "error", '{"code":"internal"}'],
      ["startedAt", 1, "finishedAt", 2, "resultAttempt", 1],
    ),
  }),
  ([tenant, id], { effect = id, nodes, ...rest }): JobEnd =>
    end(tenant, id, { ...rest, stored: { effect, nodes, bytes: nodes * 10 } }),
).map((items) => ({ what: "finish", items }));

const marks: fc.Arbitrary<Step> = stepOf(fc.constantFrom(...MARKS), ([tenant, id], mark): Marked => [
  tenant,
  id,
  mark,
]).map((items) => ({ what: "mark", items }));

/** What the tenants have, but for names of the run and times of its writing. */
async function everything({ keys, channel }: Opened): Promise<unknown> {
  const own = keys.own("*").slice(0, -"{*}:".length);
  const names = (await redis.keys(`${own.slice(0, -1)}:*`)).toSorted();
  const read: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
    hash: async (name) =>
      Object.entries(await redis.hgetall(name))
        .filter(([field]) => !name.includes(":delivery:") || !["createdAt", "nextAt"].includes(field))
        .map(([field, value]) => [field, value.replace(channel, "own channel")])
        .toSorted(),
    // In which order the ends of one call come is free.
    list: async (name) => (await redis.lrange(name, 0, -1)).map((entry) => entry.replace(/^\d+:/, "")).toSorted(),
    zset: async (name) => (await redis.zrange(name, "0", "-1")).toSorted(),
    stream: async (name) => (await redis.xrange(name, "-", "+")).map(([, fields]) => fields),
  };
  const seen = await Promise.all(
    names.map(async (name) => {
      const content = await read[await redis.type(name)]?.(name);
      return [name.slice(own.length), { content, minutes: Math.round((await redis.pttl(name)) / 60_000) }];
    }),
  );
  return Object.fromEntries(seen) as unknown;
}

/** Does one thing of a step, and answers what is not a time. */
async function take({ writes, keys, channel }: Opened, step: Step, at: number): Promise<unknown> {
  if (step.what === "submit") {
    const { watched, ...status } = step.items[at]!;
    return (await writes.submit({ ...status, watch: watched ? channel : undefined })).slice(0, 2);
  }
  if (step.what === "start") return writes.start(step.items[at]!);
  if (step.what === "finish") return (await writes.finish(step.items[at]!)).answer;
  const [tenant, id, mark] = step.items[at]!;
  if ((await redis.exists(keys.job(tenant, id))) === 0) return undefined;
  if (mark === "followed") await redis.xadd(keys.events(tenant, id), "*", "type", "state");
  return redis.hset(keys.job(tenant, id), mark, "1");
}

test("what goes together comes to the same as each by itself", async () => {
  const subscriber = connectRedis(server.address, "subscriber");
  const heard = new Map<string, string[]>();
  subscriber.on("message", (channel: string, message: string) => heard.get(channel)?.push(message));
  /** What a channel was told from beginning to end. */
  const wakesOf = async ({ channel }: Opened): Promise<readonly string[]> => {
    await redis.publish(channel, "over");
    const messages = await until(() => (heard.get(channel)?.at(-1) === "over" ? heard.get(channel) : undefined));
    heard.delete(channel);
    await subscriber.unsubscribe(channel);
    return messages.toSorted();
  };
  const steps = fc.array(fc.oneof(submits, submits, starts, finishes, finishes, marks), { maxLength: 16 });
  const compare = fc.asyncProperty(steps, async (all) => {
    const [together, apart] = [open(), open()];
    const hook = { events: STATES, kinds: ["insert"], url: "https://example.com", createdAt: 0, secrets: [] };
    for (const { keys, channel } of [together, apart]) {
      heard.set(channel, []);
      await subscriber.subscribe(channel);
      await redis.hset(keys.webhooks("ten_a"), "whk_1", JSON.stringify(hook));
      await redis.hset(keys.webhooks("ten_a"), "whk_2", JSON.stringify({ ...hook, memory: "mem_job_1" }));
    }
    for (const step of all) {
      const single: unknown[] = [];
      for (const at of step.items.keys()) single.push(await take(apart, step, at));
      expect(await Promise.all(Array.from(step.items.keys(), (at) => take(together, step, at)))).toEqual(single);
    }
    expect(await everything(together)).toEqual(await everything(apart));
    expect(await wakesOf(together)).toEqual(await wakesOf(apart));
  });
  await fc.assert(compare, {
    numRuns: 150,
    seed: Number(process.env["PROPERTY_SEED"] ?? Math.floor(Math.random() * 0x7fffffff)),
    ...(process.env["PROPERTY_PATH"] !== undefined && { path: process.env["PROPERTY_PATH"] }),
  });
  subscriber.disconnect();
});

test("who waits is told the end as a record has it", async () => {
  const { writes, channel } = open();
  const subscriber = connectRedis(server.address, "subscriber");
  const messages: string[] = [];
  subscriber.on("message", (_channel: string, message: string) => messages.push(message));
  await subscriber.subscribe(channel);
  const ids = ["job_1", "job_2", "job_3", "job_4"];
  await Promise.all(ids.map((id) => writes.submit({ record: record("ten_a", id), watch: channel })));
  const limit = JOB_SETTINGS.wakeBytes;
  // Two bytes a character.
  const [fits, tooLarge] = [`"${"é".repeat(limit / 2 - 1)}"`, `"${"é".repeat(limit / 2)}"`];
  const error = { code: "internal", message: "no", details: {} };
  await Promise.all([
    writes.finish(end("ten_a", "job_1", { attempt: 2 })),
    writes.finish(end("ten_a", "job_2", { state: "dead", fields: ["finishedAt", 2, "error", JSON.stringify(error)] })),
    writes.finish(end("ten_a", "job_3", { fields: ["finishedAt", 2, "done", 3, "total", 4, "result", fits] })),
    writes.finish(end("ten_a", "job_4", { fields: ["finishedAt", 2, "result", tooLarge] })),
  ]);
  await until(() => (messages.length === ids.length ? true : undefined));
  subscriber.disconnect();
  const told = new Map(
    messages.map((message) => [message.split(" ", 2).join(" "), message.split(" ").slice(2).join(" ")]),
  );
  const endOf = (id: string): unknown => JSON.parse(told.get(`end ten_a.${id}`) ?? "");
  const nothing = { done: 0, total: 0 };
  expect(endOf("job_1")).toEqual({
    ...{ state: "completed", attempts: 2, progress: nothing, result: "done" },
    ...{ startedAt: 1_700_000_001_000, finishedAt: 1_700_000_002_000 },
  });
  expect(endOf("job_2")).toEqual({ state: "dead", attempts: 1, progress: nothing, finishedAt: 2, error });
  expect(endOf("job_3")).toMatchObject({ progress: { done: 3, total: 4 }, result: JSON.parse(fits) as string });
  expect(told.get("end ten_a.job_4")).toBe("");
});
