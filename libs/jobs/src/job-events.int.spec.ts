import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { collect, openJobBench, request, until, untilState, type JobBench } from "./testing/job-bench.js";
import type { JobClient, JobEvent } from "./types.js";

let bench: JobBench;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(() => bench.reset());
afterAll(() => bench.close());

/** All events until the stream ends by itself; a stream that does not is cut and seen by its missing end. */
async function all(client: JobClient, id: string, after?: string): Promise<JobEvent[]> {
  const signal = AbortSignal.timeout(5_000);
  return collect(client.events("ten_a", id, { signal, ...(after !== undefined && { after }) }));
}

const streamOf = (id: string): string => `${bench.settings.prefix}:{ten_a}:events:${id}`;

async function isFollowed(id: string): Promise<void> {
  await until(async () => (await bench.bare().exists(streamOf(id))) === 1);
}

const told = (events: readonly JobEvent[]): string[] =>
  events.map(({ type, record }) =>
    type === "state" ? record.state : `${record.progress.done}/${record.progress.total}`,
  );

/** A handler that goes one step each time it is told to. */
function stepping() {
  const steps = [1, 2, 3].map(() => Promise.withResolvers<undefined>());
  const handle = async (_payload: unknown, context: { progress(done: number, total: number): void }) => {
    for (const [index, step] of steps.entries()) {
      await step.promise;
      context.progress(index + 1, steps.length);
    }
    return "done";
  };
  return { handle, step: (index: number) => steps[index]?.resolve(undefined) };
}

test("a follower sees every state, the progress, and the result at the end", async () => {
  const { handle, step } = stepping();
  await bench.workers({ insert: handle });
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  const seen: JobEvent[] = [];
  for await (const event of client.events("ten_a", id, { signal: AbortSignal.timeout(5_000) })) {
    seen.push(event);
    if (event.record.state === "active") step(event.record.progress.done);
  }
  expect(told(seen)).toEqual(["queued", "active", "1/3", "2/3", "completed"]);
  expect(seen.at(-1)!.record).toEqual(await client.get("ten_a", id));
  expect(seen.at(-1)!.record).toMatchObject({ result: "done", progress: { done: 3, total: 3 } });
  expect(seen[1]!.record.startedAt).toBe(seen.at(-1)!.record.startedAt);
});

test("a client that reconnects to another process goes on after the last event that it saw", async () => {
  const { handle, step } = stepping();
  await bench.workers({ insert: handle });
  const [first, second] = [bench.client(), bench.client()];
  const { id } = await first.submit(request("insert"));
  const events = first.events("ten_a", id, { signal: AbortSignal.timeout(5_000) })[Symbol.asyncIterator]();
  await events.next();
  const { value: active } = (await events.next()) as { value: JobEvent };
  await events.return?.();
  for (const index of [0, 1, 2]) step(index);
  const rest = await all(second, id, active.id);
  expect(told(rest).filter((text) => !text.includes("/"))).toEqual(["completed"]);
  const whole = await all(second, id);
  expect(whole.map((event) => event.id)).toEqual([...new Set(whole.map((event) => event.id))].sort());
  expect(whole.at(-1)).toEqual(rest.at(-1));
});

test("a job that nobody follows has no stream, and one that is followed late tells what its status knows", async () => {
  const bare = bench.bare();
  const { handle, step } = stepping();
  await bench.workers({ insert: handle });
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  await untilState(client, id, "active");
  expect(await bare.exists(streamOf(id))).toBe(0);
  step(0);
  await until(async () => (await client.get("ten_a", id)).progress.done === 1);
  expect(await bare.exists(streamOf(id))).toBe(0);
  const followers = [all(client, id), all(bench.client(), id)];
  await isFollowed(id);
  step(1);
  step(2);
  const [one = [], other] = await Promise.all(followers);
  expect(told(one).slice(0, 3)).toEqual(["queued", "active", "1/3"]);
  expect(told(one).at(-1)).toBe("completed");
  expect(other).toEqual(one);
  const keys = [streamOf(id), streamOf(id).replace(":events:", ":status:")];
  const [kept = 0, stream = 0] = await Promise.all(keys.map((key) => bare.pttl(key)));
  expect(Math.abs(kept - stream)).toBeLessThan(1_000);
});

test("the replay of an ended job tells each event as it was, and what follows its last is nothing", async () => {
  await bench.workers({
    insert: async (_payload, context) => {
      context.progress(5, 10);
      await until(async () => (await bench.client().get("ten_a", context.id)).progress.done === 5);
    },
  });
  const client = bench.client();
  const { id } = await client.submitAndWait(request("insert"), 5_000);
  const events = await all(client, id);
  expect(told(events)).toEqual(["queued", "active", "5/10", "completed"]);
  expect(events[0]!.record).toMatchObject({ attempts: 0, progress: { done: 0, total: 0 } });
  expect(events[0]!.record).not.toHaveProperty("finishedAt");
  expect(await all(client, id, events.at(-1)!.id)).toEqual([]);
});

test("the stream of an ended job that is made again is the same one to a follower that comes back", async () => {
  await bench.workers({ insert: async () => 1 });
  const client = bench.client();
  const { id } = await client.submitAndWait(request("insert"), 5_000);
  const events = await all(client, id);
  expect(told(events)).toEqual(["queued", "active", "completed"]);
  const lost = async (): Promise<unknown> => bench.bare().del(streamOf(id));
  await lost();
  expect(await all(client, id, events[1]!.id)).toEqual(events.slice(2));
  await lost();
  expect(await all(client, id, events[2]!.id)).toEqual([]);
  await lost();
  expect(await all(client, id)).toEqual(events);
});

test("a follower is told of the end also when the wake-up is lost", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  await bench.workers({ insert: () => promise });
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  await untilState(client, id, "active");
  const following = all(client, id);
  const bare = bench.bare();
  const key = `${bench.settings.prefix}:{ten_a}:status:${id}`;
  await until(async () => (await bare.hget(key, "watch")) !== null);
  await bare.hdel(key, "watch");
  resolve(1);
  expect(told(await following)).toEqual(["queued", "active", "completed"]);
});

test("following ends when the follower goes away", async () => {
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  const controller = new AbortController();
  const events = client.events("ten_a", id, { signal: controller.signal })[Symbol.asyncIterator]();
  await events.next();
  const next = events.next();
  controller.abort();
  expect(await next).toEqual({ value: undefined, done: true });
});

test("an id older than what is kept goes on with the oldest that is, and each event has the whole job", async () => {
  const { handle, step } = stepping();
  await bench.workers({ insert: handle });
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  for (const index of [0, 1, 2]) step(index);
  await untilState(client, id, "completed");
  const whole = await all(client, id);
  const bare = bench.bare();
  await bare.xtrim(streamOf(id), "MAXLEN", 1);
  const rest = await all(client, id, whole[0]!.id);
  expect(rest).toEqual(whole.slice(-1));
  expect(rest[0]!.record).toMatchObject({ state: "completed", result: "done" });
});

test("an id that the stream has not come to, as after a loss of its end, starts over: nothing is missed", async () => {
  const { handle, step } = stepping();
  await bench.workers({ insert: handle });
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  await untilState(client, id, "active");
  const following = all(client, id, "99999999999999-7");
  for (const index of [0, 1, 2]) step(index);
  const seen = told(await following);
  expect(seen.slice(0, 2)).toEqual(["queued", "active"]);
  expect(seen.at(-1)).toBe("completed");
});

test("an id that is none of a stream's is refused", async () => {
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  await expect(all(client, id, "0-0 COUNT 1")).rejects.toMatchObject({ code: "invalid_request" });
});

test("progress is written at a bounded pace, and not at all for a job that ends before", async () => {
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  const following = all(client, id);
  await isFollowed(id);
  await bench.workers({
    insert: async (_payload, context) => {
      for (let done = 0; done <= 10_000; done++) context.progress(done, 10_000);
    },
  });
  expect(told(await following)).toEqual(["queued", "active", "completed"]);
  expect((await client.get("ten_a", id)).progress).toEqual({ done: 10_000, total: 10_000 });
});

test("the stream of a job is bounded", async () => {
  const settings = { ...bench.settings, eventsPerJob: 100, progressMs: 0 };
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  const following = all(client, id);
  await isFollowed(id);
  await bench.workers(
    {
      insert: async (_payload, context) => {
        for (let done = 1; done <= 600; done++) {
          context.progress(done, 600);
          await new Promise((resolve) => setTimeout(resolve, 2));
        }
      },
    },
    { settings },
  );
  await following;
  const length = await bench.bare().xlen(streamOf(id));
  expect(length).toBeGreaterThan(50);
  expect(length).toBeLessThan(250);
});
