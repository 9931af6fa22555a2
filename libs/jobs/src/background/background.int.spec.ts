import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { openJobBench, until, type JobBench } from "../testing/job-bench.js";
import type { JobContext } from "../types.js";
import type { Sweeps } from "./sweeps.js";

let bench: JobBench;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(() => bench.reset());
afterAll(() => bench.close());

const scope = { tenant: "ten_a", memory: "mem_1" };
const PACE = { everyMs: 60_000, lockMs: 5_000 };

test("a claim of rows runs in a queue of its own, and leaves no status behind", async () => {
  const { batches } = bench.background();
  const ran: [unknown, string][] = [];
  await bench.workers({
    "embed-rows": async (payload: unknown, { id }: JobContext) => ran.push([payload, id]),
  });
  await batches.submit("claim-1");
  await until(() => ran.length === 1);
  expect(ran).toEqual([[{ task: "embed-rows", claim: "claim-1" }, "claim-1"]]);
  const bare = bench.bare();
  await until(async () => (await batches.load()).active === 0);
  expect(await bare.keys(`${bench.settings.prefix}:{*}:*`)).toEqual([]);
  await until(async () => (await bare.keys("*claim-1*")).length === 0);
});

test("claims and the jobs of the batch lane wait for one another neither in the queue nor for a slot", async () => {
  const { batches } = bench.background();
  const client = bench.client();
  const rest = Promise.withResolvers<undefined>();
  const ran: string[] = [];
  const options = { concurrency: { score: 1, rows: 1 } };
  const busy = {
    "embed-fields": async () => {
      ran.push("fields");
      if (ran.length < 3) await rest.promise;
    },
    "embed-rows": async () => {
      ran.push("rows");
      if (ran.length < 3) await rest.promise;
    },
  };
  await bench.workers(busy, options);
  for (let revision = 1; revision <= 5; revision += 1) {
    await client.submit({ kind: "score", ...scope, payload: { task: "embed-fields", revision } });
  }
  await until(() => ran.length === 1);
  expect(await batches.load()).toEqual({ waiting: 0, active: 0 });
  await batches.submit("claim-1");
  await until(() => ran.length === 2);
  expect(ran).toEqual(["fields", "rows"]);
  await batches.submit("claim-2");
  expect(await batches.load()).toEqual({ waiting: 1, active: 1 });
  rest.resolve(undefined);
  await until(() => ran.length === 7);
});

test("a claim whose run fails is tried again, and is nobody's dead letter in the end", async () => {
  const { batches } = bench.background();
  let runs = 0;
  await bench.workers({
    "embed-rows": async () => {
      runs += 1;
      throw new Error("again");
    },
  });
  await batches.submit("claim-2");
  await until(() => runs === bench.settings.queues.rows.attempts);
  await until(async () => (await batches.load()).active === 0);
  expect(await bench.client().counts()).toMatchObject({ score: { dead: 0 } });
});

test("a claim that is taken over from a worker that hung says how often", async () => {
  const { batches } = bench.background();
  const bare = bench.bare();
  const hung = Promise.withResolvers<undefined>();
  const takenOver: number[] = [];
  await bench.workers({
    "embed-rows": async (_payload: unknown, context: JobContext) => {
      takenOver.push(context.takenOver);
      if (takenOver.length > 1) return;
      await hung.promise;
    },
  });
  await batches.submit("claim-3");
  await until(() => takenOver.length === 1);
  const lock = `{${bench.settings.prefix}-rows}:rows:.claim-3:lock`;
  await until(async () => {
    await bare.del(lock);
    return takenOver.length === 2;
  });
  hung.resolve(undefined);
  expect(takenOver).toEqual([0, 1]);
});

test("the load of the score queue counts what waits", async () => {
  const { batches } = bench.background();
  for (const claim of ["a", "b"]) await batches.submit(claim);
  expect(await batches.load()).toEqual({ waiting: 2, active: 0 });
});

/** The pages of one sweep as they are taken. */
async function turns(sweeps: Sweeps, pages: readonly (string | undefined)[]): Promise<(string | undefined)[]> {
  const from: (string | undefined)[] = [];
  for (const next of pages) {
    await sweeps.turn(PACE, async (after) => {
      from.push(after);
      return next;
    });
  }
  return from;
}

test("a sweep goes through its pages, whoever takes the turns, and then rests until it is due", async () => {
  const [one, other] = [bench.background().sweeps, bench.background().sweeps];
  expect(await turns(one, ["m"])).toEqual([undefined]);
  expect(await turns(other, ["t", undefined])).toEqual(["m", "t"]);
  expect(await turns(one, [undefined])).toEqual([]);
  const state = await one.state();
  expect(state.finishedAt).toBeGreaterThanOrEqual(state.startedAt!);
  let begun = false;
  const due = { ...PACE, everyMs: 0 };
  await until(() => other.turn(due, async () => void (begun = true)));
  expect(begun).toBe(true);
});

test("only one process has the turn, and a page that failed is taken again", async () => {
  const [one, other] = [bench.background().sweeps, bench.background().sweeps];
  const first = one.turn(PACE, async () => {
    expect(await other.turn(PACE, async () => "never")).toBe(false);
    throw new Error("down");
  });
  await expect(first).rejects.toThrow("down");
  expect(await turns(other, [undefined])).toEqual([undefined]);
});

test("a turn lasts as long as its process lives, and is repeated when that has died", async () => {
  const [one, other] = [bench.background().sweeps, bench.background().sweeps];
  const over = Promise.withResolvers<string>();
  const begun = Promise.withResolvers<undefined>();
  const short = { ...PACE, lockMs: 60 };
  const running = one.turn(short, async () => {
    begun.resolve(undefined);
    return over.promise;
  });
  await begun.promise;
  const bare = bench.bare();
  const lock = `{${bench.settings.prefix}-sweep}:lock`;
  // Several times as long as the lock without its renewal.
  const asked = Date.now();
  await until(() => Date.now() > asked + 3 * short.lockMs);
  expect(await other.turn(short, async () => "never")).toBe(false);
  // As a process leaves it that died: the lock ends, and its turn with it.
  await bare.del(lock);
  expect(await turns(other, [undefined])).toEqual([undefined]);
  over.resolve("too late");
  await running;
  expect((await one.state()).finishedAt).toBeDefined();
  expect(await turns(one, [undefined])).toEqual([]);
});

test("a sweep that is asked for begins, also when the last one was just now", async () => {
  const { sweeps } = bench.background();
  await turns(sweeps, [undefined]);
  await sweeps.ask();
  const { askedAt } = await sweeps.state();
  expect(await turns(sweeps, [undefined])).toEqual([undefined]);
  expect((await sweeps.state()).startedAt).toBeGreaterThanOrEqual(askedAt!);
  expect(await turns(sweeps, [undefined])).toEqual([]);
});

test("what is noted of a memory that could not be compared again stays", async () => {
  const { sweeps } = bench.background();
  await sweeps.note(scope, 5);
  const before = Date.now();
  await until(() => Date.now() > before + 2);
  await sweeps.turn(PACE, async () => {
    await sweeps.keep(scope);
    await sweeps.keep({ ...scope, memory: "mem_2" });
    return undefined;
  });
  expect(await sweeps.state()).toMatchObject({ drift: 5, memories: 1 });
});

test("drift is the sum over the memories; what was repaired or not found again is none", async () => {
  const { sweeps } = bench.background();
  const [other, gone] = [
    { ...scope, memory: "mem_2" },
    { ...scope, memory: "mem_3" },
  ];
  await sweeps.note(gone, 100);
  const before = Date.now();
  await until(() => Date.now() > before + 2);
  await sweeps.turn(PACE, async () => {
    await sweeps.note(scope, 3);
    await sweeps.note(other, 4);
    return undefined;
  });
  expect(await sweeps.state()).toMatchObject({ drift: 7, memories: 2 });
  await sweeps.note(scope, 0);
  expect(await sweeps.state()).toMatchObject({ drift: 4, memories: 1 });
});
