import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Redis } from "ioredis";
import { startRedis, type TestRedis } from "../../../../test/support/redis.js";
import { connectRedis } from "../redis.js";
import { until } from "../testing/job-bench.js";
import { Lane, type Envelope, type LaneSettings, type Released } from "./lane.js";

const SETTINGS: LaneSettings = {
  ...{ window: 4, tenantInFlight: 4, quantum: 10, tenantJobs: 1_000, tenantBytes: 1_000_000 },
  ...{ releases: 100, submits: 100, resendMs: 1_000, lostMs: 5_000, sweepJobs: 100 },
};

let server: TestRedis;
let redis: Redis;
let tags = 0;

const laneOf = (changes: Partial<LaneSettings> = {}): Lane =>
  new Lane({ redis, tag: `{lane-${(tags += 1)}}`, settings: { ...SETTINGS, ...changes } });

const idsOf = (released: readonly Released[]): readonly string[] => released.map(({ id }) => id);

/** What is released by a submit. Throws the refusal of one of the jobs. */
async function submit(lane: Lane, ...jobs: readonly Envelope[]): Promise<readonly Released[]> {
  const { released, refused } = await lane.submit(...jobs);
  for (const refusal of refused.values()) throw refusal;
  return released;
}

const untilSome = (read: () => Promise<readonly Released[]>): Promise<readonly Released[]> =>
  until(async () => {
    const released = await read();
    return released.length > 0 ? released : undefined;
  });

const job = (tenant: string, id: string, more: { cost?: number; order?: string } = {}) => ({
  ...{ id, tenant, cost: 1, data: `data of ${id}`, createdAt: Number.parseInt(id, 10) || 0 },
  ...more,
});

beforeAll(async () => {
  server = await startRedis();
  redis = connectRedis(server.address, "worker");
});
afterAll(async () => {
  redis.disconnect();
  await server.close();
});

describe("a lane", () => {
  test("tells when the oldest of those whose turn may come was submitted", async () => {
    const lane = laneOf({ window: 1 });
    await submit(lane, job("a", "100"));
    expect(await lane.oldest()).toBeUndefined();
    await submit(lane, job("a", "300"));
    await submit(lane, job("b", "200"));
    await submit(lane, job("b", "250"));
    expect(await lane.oldest()).toBe(200);
    await lane.cancel("200");
    expect(await lane.oldest()).toBe(250);
  });

  test("releases at once what fits into the window, and the rest as jobs end, with their data", async () => {
    const lane = laneOf({ window: 2 });
    expect(await submit(lane, job("a", "1"))).toEqual([{ id: "1", data: "data of 1" }]);
    expect(idsOf(await submit(lane, job("a", "2")))).toEqual(["2"]);
    expect(await submit(lane, job("a", "3"))).toEqual([]);
    expect(await lane.counts()).toEqual({ queued: 1, inFlight: 2 });
    expect(idsOf(await lane.finish("1"))).toEqual(["3"]);
    expect(await lane.finish("1")).toEqual([]);
    expect(await submit(lane, job("a", "2"))).toEqual([]);
    expect(await lane.counts()).toEqual({ queued: 0, inFlight: 2 });
  });

  test("jobs of one ordering key go one after the other; other keys of the tenant go past them", async () => {
    const lane = laneOf();
    expect(idsOf(await submit(lane, job("a", "1", { order: "m" })))).toEqual(["1"]);
    expect(await submit(lane, job("a", "2", { order: "m" }))).toEqual([]);
    expect(await submit(lane, job("a", "3", { order: "m" }))).toEqual([]);
    expect(idsOf(await submit(lane, job("a", "4", { order: "n" })))).toEqual(["4"]);
    expect(idsOf(await lane.finish("1"))).toEqual(["2"]);
    expect(await lane.cancel("3")).toBe(true);
    expect(await lane.finish("2")).toEqual([]);
    expect(idsOf(await submit(lane, job("a", "5", { order: "m" })))).toEqual(["5"]);
  });

  test("a cancelled head makes way for the next of its key; a job in flight is not cancelled here", async () => {
    const lane = laneOf({ window: 1 });
    await submit(lane, job("a", "1"));
    await submit(lane, job("a", "2", { order: "m" }));
    await submit(lane, job("a", "3", { order: "m" }));
    expect(await lane.cancel("1")).toBe(false);
    expect(await lane.cancel("2")).toBe(true);
    expect(await lane.cancel("2")).toBe(false);
    expect(idsOf(await lane.finish("1"))).toEqual(["3"]);
  });

  test("a tenant has at most half of the window while another waits, and the cap even alone", async () => {
    const lane = laneOf({ window: 4, tenantInFlight: 3 });
    for (const id of ["a1", "a2", "a3", "a4", "a5", "a6"]) await submit(lane, job("a", id));
    expect(await lane.counts()).toEqual({ queued: 3, inFlight: 3 });
    expect(idsOf(await submit(lane, job("b", "b1")))).toEqual(["b1"]);
    await submit(lane, job("b", "b2"));
    expect(idsOf(await lane.finish("a1"))).toEqual(["b2"]);
  });

  test("a tenant that is alone leaves room in the window, and who comes beside its flood goes to the queue at once", async () => {
    const lane = laneOf({ window: 10, tenantInFlight: 100 });
    for (let at = 0; at < 20; at += 1) await submit(lane, job("a", `a${at}`));
    expect(await lane.counts()).toEqual({ queued: 13, inFlight: 7 });
    expect(idsOf(await submit(lane, job("b", "b1")))).toEqual(["b1"]);
  });

  test("the window grows with the slots of the kind that has most of them", async () => {
    const lane = laneOf({ window: 4, tenantInFlight: 100 });
    await lane.register("one/insert", 5, 60_000);
    await lane.register("two/insert", 5, 60_000);
    await lane.register("one/maintain", 8, 60_000);
    await lane.measure();
    for (let at = 0; at < 15; at += 1)
      for (const tenant of ["a", "b"]) await submit(lane, job(tenant, `${tenant}${at}`));
    expect(await lane.counts()).toEqual({ queued: 10, inFlight: 20 });
  });

  test("what is over the limits of a tenant is refused, says which, and leaves nothing behind", async () => {
    const lane = laneOf({ window: 1, tenantJobs: 1, tenantBytes: 20 });
    await submit(lane, job("a", "1"));
    await submit(lane, job("a", "2"));
    await expect(submit(lane, job("a", "3"))).rejects.toMatchObject({
      code: "queue_full",
      details: { limit: "queuedJobs", value: 1, current: 1 },
    });
    expect(await submit(lane, job("b", "4"))).toEqual([]);
    await expect(submit(lane, { ...job("c", "5"), data: "x".repeat(21) })).rejects.toMatchObject({
      details: { limit: "queuedBytes", value: 20, current: 0 },
    });
    expect(await lane.counts()).toEqual({ queued: 2, inFlight: 1 });
  });

  test("a tenant's own limits go before the lane's, and hold for it alone", async () => {
    const lane = laneOf({ window: 4, tenantInFlight: 3, tenantJobs: 1 });
    const narrow = { limits: { queuedJobs: 2, inFlight: 1 } };
    for (const id of ["1", "2", "3"]) await submit(lane, { ...job("a", id), ...narrow });
    expect(await lane.counts()).toEqual({ queued: 2, inFlight: 1 });
    await expect(submit(lane, { ...job("a", "4"), ...narrow })).rejects.toMatchObject({
      details: { limit: "queuedJobs", value: 2, current: 2 },
    });
    expect(idsOf(await submit(lane, { ...job("b", "5"), limits: {} }))).toEqual(["5"]);
    expect(idsOf(await lane.finish("1"))).toEqual(["2"]);
    // Without a limit on its jobs in flight, those that wait go with the next.
    expect(idsOf(await submit(lane, { ...job("a", "4"), limits: {} }))).toEqual(["3", "4"]);
  });

  test("jobs that come together are taken in their order, and each is refused for itself", async () => {
    const lane = laneOf({ window: 2, tenantJobs: 2, tenantBytes: 30 });
    const large = { ...job("c", "large"), data: "x".repeat(31) };
    const { released, refused } = await lane.submit(
      ...[job("a", "a1", { order: "m" }), job("a", "a2", { order: "m" }), job("a", "a3"), job("a", "a4")],
      ...[large, job("b", "b1"), job("a", "a1"), job("b", "b2")],
    );
    // While nobody waits it is a job's turn at once; the others have theirs by the round.
    expect(idsOf(released)).toEqual(["a1", "a3"]);
    expect([...refused].map(([id, { details }]) => [id, details["limit"], details["current"]])).toEqual([
      ["large", "queuedBytes", 0],
    ]);
    expect(await lane.counts()).toEqual({ queued: 4, inFlight: 2 });
    expect((await lane.submit(job("a", "a5"), job("b", "b3"), job("c", "c1"))).refused.size).toBe(2);
    expect(idsOf(await lane.finish("a1", "a3", "a1", "b1"))).toHaveLength(2);
    expect(await lane.counts()).toEqual({ queued: 3, inFlight: 2 });
  });

  test("what is in flight is looked after soon after its release, and then now and then, each time by one", async () => {
    const lane = laneOf({ resendMs: 200, lostMs: 1_500 });
    await submit(lane, job("a", "1"), job("a", "2"));
    expect(await lane.lost()).toEqual([]);
    expect(await untilSome(() => lane.lost())).toEqual([
      { id: "1", data: "data of 1" },
      { id: "2", data: "data of 2" },
    ]);
    expect(await lane.lost()).toEqual([]);
    await lane.finish("1");
    expect(idsOf(await untilSome(() => lane.lost()))).toEqual(["2"]);
  });

  test("a job that costs more than many turns goes when its turns have come, and does not block the others", async () => {
    const lane = laneOf({ window: 1 });
    await submit(lane, job("a", "first"));
    await submit(lane, job("a", "large", { cost: 95 }));
    for (let at = 0; at < 15; at += 1) await submit(lane, job("b", `b${at}`, { cost: 10 }));
    const order: string[] = [];
    for (let last = "first"; ;) {
      const [next] = idsOf(await lane.finish(last));
      if (next === undefined) break;
      order.push(next);
      last = next;
    }
    expect(order).toHaveLength(16);
    expect(order.indexOf("large")).toBeGreaterThanOrEqual(8);
    expect(order.indexOf("large")).toBeLessThanOrEqual(11);
  });

  test("cost is served by weight to tenants that always have work", async () => {
    const lane = laneOf({ window: 16, quantum: 20, tenantInFlight: 16 });
    const weights = { a: 4, b: 2, c: 1 };
    for (const [tenant, weight] of Object.entries(weights)) await lane.setWeight(tenant, weight);
    const costs = new Map<string, number>();
    const flying: string[] = [];
    for (let at = 0; at < 800; at += 1) {
      for (const tenant of Object.keys(weights)) {
        const id = `${tenant}${at}`;
        const cost = 1 + ((at * 7) % 13);
        costs.set(id, cost);
        flying.push(...idsOf(await submit(lane, job(tenant, id, { cost }))));
      }
    }
    const served = { a: 0, b: 0, c: 0 };
    for (let at = 0; at < 900; at += 1) {
      const id = flying.shift()!;
      served[id.charAt(0) as keyof typeof served] += costs.get(id)!;
      flying.push(...idsOf(await lane.finish(id)));
    }
    const total = served.a + served.b + served.c;
    expect(served.a / total / (4 / 7)).toBeGreaterThan(0.95);
    expect(served.a / total / (4 / 7)).toBeLessThan(1.05);
    expect(served.b / total / (2 / 7)).toBeGreaterThan(0.95);
    expect(served.b / total / (2 / 7)).toBeLessThan(1.05);
    expect(served.c / total / (1 / 7)).toBeGreaterThan(0.95);
    expect(served.c / total / (1 / 7)).toBeLessThan(1.05);
  });
});

interface Job {
  readonly tenant: string;
  readonly order: string | undefined;
  readonly cost: number;
}

type Action =
  | { readonly kind: "submit"; readonly jobs: readonly Job[] }
  | { readonly kind: "finish"; readonly places: readonly number[] }
  | { readonly kind: "crash" | "cancel" | "repeat"; readonly at: number }
  | { readonly kind: "sweep" };

const jobs: fc.Arbitrary<Job> = fc.record({
  tenant: fc.constantFrom("a", "b", "c"),
  order: fc.option(fc.constantFrom("m", "n"), { nil: undefined }),
  cost: fc.integer({ min: 1, max: 60 }),
});

const actions: fc.Arbitrary<readonly Action[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant("submit" as const),
        jobs: fc.array(jobs, { minLength: 1, maxLength: 4 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("finish" as const),
        places: fc.array(fc.nat(50), { minLength: 1, maxLength: 3 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constantFrom("cancel" as const, "repeat" as const, "crash" as const),
        at: fc.nat(50),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("sweep" as const) }) },
  ),
  { maxLength: 60 },
);

/** What must hold, told in plain lists: nothing lost, nothing in flight twice, order kept per key, caps held. */
class Model {
  readonly tenantOf = new Map<string, string>();
  readonly orderOf = new Map<string, string>();
  readonly queued: string[] = [];
  /** Released and handed to a process that lives, or that died before it added them. */
  readonly added = new Set<string>();
  readonly dropped = new Set<string>();
  readonly done: string[] = [];

  release(released: readonly Released[], settings: LaneSettings): void {
    for (const { id } of released) {
      expect(this.queued).toContain(id);
      const order = this.orderOf.get(id);
      if (order !== undefined) {
        const ahead = this.queued.filter((other) => this.orderOf.get(other) === order);
        expect(ahead[0]).toBe(id);
        expect([...this.added, ...this.dropped].filter((other) => this.orderOf.get(other) === order)).toEqual([]);
      }
      this.queued.splice(this.queued.indexOf(id), 1);
      this.added.add(id);
    }
    const flying = [...this.added, ...this.dropped];
    expect(flying.length).toBeLessThanOrEqual(settings.window);
    for (const tenant of ["a", "b", "c"]) {
      expect(flying.filter((id) => this.tenantOf.get(id) === tenant).length).toBeLessThanOrEqual(
        settings.tenantInFlight,
      );
    }
  }
}

test("no interleaving of submit, dispatch, crash, sweep, finish and cancel loses a job, runs one twice or breaks an order", async () => {
  const settings: LaneSettings = { ...SETTINGS, window: 3, tenantInFlight: 2, resendMs: 0, lostMs: 0 };
  const seed = Number(process.env["PROPERTY_SEED"] ?? Math.floor(Math.random() * 0x7fffffff));
  await fc.assert(
    fc.asyncProperty(actions, async (steps) => {
      const lane = new Lane({ redis, tag: `{lane-${(tags += 1)}}`, settings });
      const model = new Model();
      let ids = 0;
      const pick = (from: Iterable<string>, at: number): string | undefined => {
        const all = [...from];
        return all[at % Math.max(1, all.length)];
      };
      for (const step of steps) {
        if (step.kind === "submit") {
          const submitted = step.jobs.map(({ tenant, order: name, cost }) => {
            const id = `j${(ids += 1)}`;
            const order = name === undefined ? undefined : `${tenant}/${name}`;
            model.tenantOf.set(id, tenant);
            if (order !== undefined) model.orderOf.set(id, order);
            model.queued.push(id);
            return { ...job(tenant, id, { cost, ...(order !== undefined && { order }) }), data: id };
          });
          model.release(await submit(lane, ...submitted), settings);
        } else if (step.kind === "sweep") {
          // What is in its queue is left there; what was dropped is added now.
          const flying = idsOf(await lane.lost());
          expect([...flying].sort()).toEqual([...model.added, ...model.dropped].sort());
          for (const id of model.dropped) model.added.add(id);
          model.dropped.clear();
        } else if (step.kind === "crash") {
          const id = pick(model.added, step.at);
          if (id === undefined) continue;
          model.added.delete(id);
          model.dropped.add(id);
        } else if (step.kind === "cancel") {
          const id = pick([...model.queued, ...model.added], step.at);
          if (id === undefined) continue;
          expect(await lane.cancel(id)).toBe(model.queued.includes(id));
          const index = model.queued.indexOf(id);
          if (index >= 0) model.queued.splice(index, 1);
          model.release(await lane.dispatch(), settings);
        } else if (step.kind === "finish") {
          const ended = new Set(step.places.flatMap((at) => pick(model.added, at) ?? []));
          for (const id of ended) model.added.delete(id);
          model.done.push(...ended);
          if (ended.size > 0) model.release(await lane.finish(...ended), settings);
        } else {
          const id = model.done.at(-1);
          if (id !== undefined) model.release(await lane.finish(id), settings);
        }
        expect(await lane.counts()).toEqual({
          queued: model.queued.length,
          inFlight: model.added.size + model.dropped.size,
        });
      }
      for (let rest = 0; model.queued.length + model.added.size + model.dropped.size > 0; rest += 1) {
        expect(rest).toBeLessThan(500);
        for (const { id } of await lane.lost()) {
          model.dropped.delete(id);
          model.added.add(id);
        }
        const [id] = model.added;
        if (id === undefined) throw new Error("Jobs wait, and nothing is in flight.");
        model.added.delete(id);
        model.release(await lane.finish(id), settings);
      }
      expect(await lane.counts()).toEqual({ queued: 0, inFlight: 0 });
      const left = await redis.keys(`{lane-${tags}}:*`);
      expect(left.filter((key) => !key.endsWith(":weight"))).toEqual([]);
    }),
    {
      seed,
      numRuns: 150,
      reporter: (details) => {
        if (details.failed)
          throw new Error(`PROPERTY_SEED=${seed}\n${fc.defaultReportMessage(details) ?? ""}`, {
            cause: details.errorInstance,
          });
      },
    },
  );
}, 60_000);
