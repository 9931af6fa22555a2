import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import type { JobSettings } from "../settings.js";
import { openJobBench, request, until, type JobBench } from "../testing/job-bench.js";
import { createTenantEraser, type TenantEraser } from "./erase-tenant.js";
import { createTenantJobs } from "./tenant-jobs.js";

let bench: JobBench;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(() => bench.reset());
afterAll(() => bench.close());

const WAIT_MS = 10_000;

async function withEraser(
  work: (eraser: TenantEraser) => Promise<void>,
  settings: Partial<JobSettings> = {},
): Promise<void> {
  const shared = { redis: bench.redis.address, settings: { ...bench.settings, ...settings } };
  const eraser = createTenantEraser({ ...shared, jobs: bench.client() });
  await work(eraser);
  await eraser.close();
}

/** Every text in this Redis that names a tenant: keys, and what lies in them. */
async function traces(tenant: string): Promise<readonly string[]> {
  const redis = bench.bare();
  const found: string[] = [];
  for (const key of await redis.keys("*")) {
    const type = await redis.type(key);
    const read: Record<string, () => Promise<unknown>> = {
      string: () => redis.get(key),
      hash: () => redis.hgetall(key),
      list: () => redis.lrange(key, 0, -1),
      set: () => redis.smembers(key),
      zset: () => redis.zrange(key, "0", "-1"),
      stream: () => redis.xrange(key, "-", "+"),
    };
    if (`${key} ${JSON.stringify(await read[type]?.())}`.includes(tenant)) found.push(key);
  }
  return found;
}

test("nothing of a tenant is left: waiting, running, ended and dead jobs, keys, weights; others keep theirs", async () => {
  const client = bench.client({
    lanes: { ...bench.settings.lanes, batch: { ...bench.settings.lanes.batch, window: 2 } },
  });
  const weights = createTenantJobs({ redis: bench.redis.address, settings: bench.settings });
  await weights.setWeight("ten_a", 3);
  const begun = Promise.withResolvers<undefined>();
  let stopped = 0;
  await bench.workers({
    query: async () => "answer",
    insert: async (_, { signal }) => {
      begun.resolve(undefined);
      await new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          stopped += 1;
          reject(signal.reason as Error);
        });
      });
    },
    retext: async () => {
      throw new EspalierError("invalid_structure", "no");
    },
  });
  for (const tenant of ["ten_a", "ten_b"]) {
    await client.submitAndWait(request("query", {}, { tenant }), WAIT_MS);
    await client.submitAndWait(request("maintain", { task: "retext" }, { tenant }), WAIT_MS);
  }
  const keyed = { idempotency: { key: "k", fingerprint: "f" } };
  for (let index = 0; index < 5; index += 1) {
    await client.submit(request("insert", {}, { memory: `mem_${index % 3}`, ...(index === 0 && keyed) }));
  }
  await client.submit(request("insert", {}, { tenant: "ten_b" }));
  await begun.promise;
  await withEraser(async (eraser) => {
    expect(await eraser.cancelJobs("ten_a", WAIT_MS)).toEqual({ cancelled: 5, running: 0 });
    expect(stopped).toBeGreaterThan(0);
    expect(await eraser.removeKeys("ten_a")).toBeGreaterThan(0);
    expect(await traces("ten_a")).toEqual([]);
    expect(await eraser.cancelJobs("ten_a", 0)).toEqual({ cancelled: 0, running: 0 });
    expect(await eraser.removeKeys("ten_a")).toBe(0);
  });
  expect(await client.list("ten_b", { limit: 10 })).toHaveLength(3);
  expect((await client.list("ten_b", { limit: 10, kind: "insert" }))[0]?.state).not.toBe("cancelled");
  weights.close();
});

test("a job that does not stop is told of, and its tenant goes when it has", async () => {
  const client = bench.client();
  const [begun, end] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  await bench.workers({
    insert: async () => {
      begun.resolve(undefined);
      await end.promise;
    },
  });
  await client.submit(request("insert"));
  await begun.promise;
  await withEraser(async (eraser) => {
    const { running } = await eraser.cancelJobs("ten_a", 0);
    expect(running).toBe(1);
    end.resolve(undefined);
    await until(async () => (await eraser.cancelJobs("ten_a", 0)).running === 0);
    await until(async () => {
      await eraser.removeKeys("ten_a");
      return (await traces("ten_a")).length === 0;
    });
  });
});

test("the place of a job whose status is gone is another tenant's at once", async () => {
  const narrow = { ...bench.settings.lanes.batch, window: 1, resendMs: 60_000, lostMs: 60_000 };
  const settings = { lanes: { ...bench.settings.lanes, batch: narrow } };
  const client = bench.client(settings);
  const [begun, end] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  const lost = await client.submit(request("insert"));
  const other = await client.submit(request("insert", {}, { tenant: "ten_b" }));
  const redis = bench.bare();
  await redis.del(`${bench.settings.prefix}:{ten_a}:status:${lost.id}`);
  await redis.del(`{${bench.settings.prefix}-insert}:insert:ten_a.${lost.id}`);
  await bench.workers(
    {
      insert: async () => {
        begun.resolve(undefined);
        await end.promise;
      },
    },
    { settings: { ...bench.settings, ...settings } },
  );
  await withEraser(async (eraser) => {
    expect(await eraser.cancelJobs("ten_a", WAIT_MS)).toEqual({ cancelled: 1, running: 0 });
  }, settings);
  await begun.promise;
  end.resolve(undefined);
  await until(async () => (await client.get("ten_b", other.id)).state === "completed");
});

test("a Redis that is away is said to be", async () => {
  const eraser = createTenantEraser({ redis: "/not/there.sock", jobs: bench.client() });
  await expect(eraser.cancelJobs("ten_a", 0)).rejects.toMatchObject({ code: "queue_unavailable" });
  await expect(eraser.removeKeys("ten_a")).rejects.toMatchObject({ code: "queue_unavailable" });
  await eraser.close();
});
