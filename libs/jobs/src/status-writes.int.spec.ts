import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Redis } from "ioredis";
import { startRedis, type TestRedis } from "../../../test/support/redis.js";
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
}

function open(settings: Partial<typeof JOB_SETTINGS> = {}): Opened {
  const keys = jobKeys(`writes-${(prefixes += 1)}`);
  return {
    writes: new StatusWrites({ redis, keys, settings: { ...JOB_SETTINGS, ...settings }, cluster: false }),
    keys,
  };
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
    await writes.finish(end("ten_a", "job_3"));
    await redis.hset(keys.job("ten_a", "job_4"), "held", "1");
    const ends = [...ids, "job_6"].map((id) => writes.finish(end("ten_a", id)));
    const others = [writes.finish(end("ten_b", "job_7")), writes.finish(end("ten_a", "job_1", { state: "failed" }))];
    const answers = (await Promise.all([...ends, ...others])).map(({ answer }) => answer);
    expect(answers).toEqual(["ok", "fenced", "ended", "held", "ok", "gone", "gone", "ended"]);
    const states = await Promise.all(ids.map((id) => redis.hget(keys.job("ten_a", id), "state")));
    expect(states).toEqual(["completed", "active", "completed", "queued", "completed"]);
    const day = await redis.keys(`${keys.usage("ten_a")}:*`);
    expect(await redis.hgetall(day[0] ?? "")).toEqual({ "insert:completed": "3" });
    expect(await redis.keys(`${keys.own("ten_b")}*`)).toEqual([]);
  });

  test("one script drops as many as it must, and of those that it ends the last stays", async () => {
    const { writes, keys } = open();
    const ids = Array.from({ length: 300 }, (_, at) => `job_${String(at).padStart(3, "0")}`);
    const small = { ms: 60_000, bytes: 1_024 * 1_024 };
    for (const id of ids) {
      await writes.submit({ record: record("ten_a", id) });
      await writes.finish(end("ten_a", id, { keep: small }));
    }
    const late = ["job_x", "job_y", "job_z"];
    await Promise.all(late.map((id) => writes.submit({ record: record("ten_a", id) })));
    const tight = { ms: 60_000, bytes: 1 };
    await Promise.all(late.map((id) => writes.finish(end("ten_a", id, { keep: tight }))));
    // A script is short: the next one goes on where it stopped.
    const left = (await redis.keys(keys.job("ten_a", "*"))).length;
    expect(left).toBe(300 - 100);
    for (const id of ["job_1", "job_2"]) {
      await writes.submit({ record: record("ten_a", id) });
      await writes.finish(end("ten_a", id, { keep: tight }));
    }
    expect(await redis.keys(keys.job("ten_a", "*"))).toEqual([keys.job("ten_a", "job_2")]);
    expect(await redis.llen(`${keys.own("ten_a")}kept:ended`)).toBe(1);
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
    expect(told.map(({ webhooks }) => webhooks)).toEqual([["whk_ten_a"], ["whk_ten_a"], []]);
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

type Step =
  | { readonly what: "submit"; readonly items: readonly NewStatus[] }
  | { readonly what: "start"; readonly items: readonly RunStart[] }
  | { readonly what: "finish"; readonly items: readonly JobEnd[] };

/** Jobs of one step: each once, as a process has it. */
const jobs = fc.uniqueArray(fc.tuple(fc.constantFrom(...TENANTS), fc.constantFrom(...IDS)), {
  ...{ minLength: 1, maxLength: 8 },
  selector: ([tenant, id]) => `${tenant}.${id}`,
});

const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });

const submits: fc.Arbitrary<Step> = fc
  .tuple(
    jobs,
    fc.infiniteStream(
      fc.record({
        watch: optional(fc.constant("writes-wake")),
        idempotency: optional(
          fc.record({
            key: fc.constantFrom("k", "l"),
            fingerprint: fc.constantFrom("f", "g"),
            most: optional(fc.constant(1)),
          }),
        ),
        replayOf: optional(fc.constant("job_0")),
      }),
    ),
  )
  .map(([of, more]) => ({
    what: "submit",
    items: of.map(([tenant, id]) => {
      const { value } = more.next() as {
        value: { watch?: string; idempotency?: NewStatus["idempotency"]; replayOf?: string };
      };
      const { replayOf, ...rest } = value;
      return { record: { ...record(tenant, id), ...(replayOf !== undefined && { replayOf }) }, ...rest };
    }),
  }));

const starts: fc.Arbitrary<Step> = fc
  .tuple(jobs, fc.integer({ min: 1, max: 3 }))
  .map(([of, attempt]) => ({ what: "start", items: of.map(([tenant, id]) => start(tenant, id, attempt)) }));

const finishes: fc.Arbitrary<Step> = fc
  .tuple(
    jobs,
    fc.infiniteStream(
      fc.record({
        attempt: fc.constantFrom(1, 3, 3),
        state: fc.constantFrom("completed", "completed", "completed", ...STATES),
        kind: fc.constantFrom("insert", "insert", "insert", "query"),
        nodes: fc.constantFrom(0, 7),
        effect: optional(fc.constantFrom(...IDS)),
      }),
    ),
  )
  .map(([of, more]) => ({
    what: "finish",
    items: of.map(([tenant, id]) => {
      const { value } = more.next() as {
        value: { attempt: number; state: JobEnd["state"]; kind: JobEnd["kind"]; nodes: number; effect?: string };
      };
      const { effect = id, nodes, ...rest } = value;
      return end(tenant, id, { ...rest, stored: { effect, nodes, bytes: nodes * 10 } });
    }),
  }));

/** What the tenants have, but for names of the run and times of its writing. */
async function everything(keys: JobKeys): Promise<unknown> {
  const own = keys.own("*").slice(0, -"{*}:".length);
  const names = (await redis.keys(`${own.slice(0, -1)}:*`)).toSorted();
  const seen = await Promise.all(
    names.map(async (name) => {
      const type = await redis.type(name);
      const content =
        type === "hash"
          ? await redis.hgetall(name)
          : type === "list"
            ? // In which order the ends of one call come is free.
              (await redis.lrange(name, 0, -1)).map((entry) => entry.replace(/^\d+:/, "")).toSorted()
            : (await redis.zrange(name, "0", "-1")).toSorted();
      const timed = ["createdAt", "nextAt"];
      const kept = name.includes(":delivery:")
        ? Object.entries(content).filter(([field]) => !timed.includes(field))
        : content;
      const lasts = Math.round((await redis.pttl(name)) / 60_000);
      return [name.slice(own.length), { type, kept, lasts }];
    }),
  );
  return Object.fromEntries(seen) as unknown;
}

test("what goes together comes to the same as each by itself", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(submits, starts, finishes), { maxLength: 16 }), async (steps) => {
      const [together, apart] = [open(), open()];
      const hook = { events: STATES, kinds: ["insert"], url: "https://example.com", createdAt: 0, secrets: [] };
      for (const { keys } of [together, apart]) {
        await redis.hset(keys.webhooks("ten_a"), "whk_1", JSON.stringify(hook));
        await redis.hset(keys.webhooks("ten_a"), "whk_2", JSON.stringify({ ...hook, memory: "mem_job_1" }));
      }
      for (const { what, items } of steps) {
        const write = ({ writes }: Opened, item: (typeof items)[number]): Promise<unknown> => {
          if (what === "submit") return writes.submit(item as NewStatus);
          if (what === "start") return writes.start(item as RunStart);
          return writes.finish(item as JobEnd).then(({ answer }) => answer);
        };
        const answers = await Promise.all(items.map((item) => write(together, item)));
        const single: unknown[] = [];
        for (const item of items) single.push(await write(apart, item));
        const untimed = (all: unknown[]): unknown[] =>
          all.map((answer) => (Array.isArray(answer) ? answer.slice(0, 2) : answer));
        expect(untimed(answers)).toEqual(untimed(single));
      }
      expect(await everything(together.keys)).toEqual(await everything(apart.keys));
    }),
    {
      numRuns: 100,
      seed: Number(process.env["PROPERTY_SEED"] ?? Math.floor(Math.random() * 0x7fffffff)),
      ...(process.env["PROPERTY_PATH"] !== undefined && { path: process.env["PROPERTY_PATH"] }),
    },
  );
});
