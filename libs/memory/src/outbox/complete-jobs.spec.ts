import { expect, test } from "@jest/globals";
import { LIMITS } from "#core";
import { openApart } from "../testing/open-apart.js";
import { completeJobs, followJobs, type JobsInWaiting } from "./complete-jobs.js";
import { embedRows } from "./embed-rows.js";

/** Notes what is said of jobs. */
class Waiting implements JobsInWaiting {
  readonly told: unknown[] = [];
  progress: JobsInWaiting["progress"] = async ({ job }, left) => void this.told.push([job, left]);
  release: JobsInWaiting["release"] = async ({ job }, outcome) => {
    this.told.push([job, outcome]);
    return true;
  };
}

test("jobs without rows are completed, of the others it is told what is left", async () => {
  const { services, createMemory, insert, claim } = openApart();
  const scope = await createMemory();
  const first = (await insert(scope, ["beach", "museum"])).job;
  await claim("c");
  const second = (await insert(scope, ["concert", "dinner", "hotel"])).job;
  await embedRows(services, "c", { takenOver: 0 });
  const waiting = new Waiting();
  const jobs = [first, second].map((job) => ({ tenant: "default", job }));
  expect(await followJobs(services.apart.outbox, waiting, jobs)).toBe(1);
  expect(waiting.told).toEqual([
    [first, { state: "completed" }],
    [second, 3],
  ]);
  expect(await followJobs(services.apart.outbox, waiting, [])).toBe(0);
});

test("after a claim the jobs are completed that have no row left, and nothing is told of the others", async () => {
  const { services, createMemory, insert, claim } = openApart();
  const scope = await createMemory();
  const first = (await insert(scope, ["beach", "museum"])).job;
  await claim("c");
  const second = (await insert(scope, ["concert"])).job;
  await embedRows(services, "c", { takenOver: 0 });
  const waiting = new Waiting();
  const jobs = [
    { tenant: "default", job: second },
    { tenant: "default", job: first },
  ];
  expect(await completeJobs(services.apart.outbox, waiting, jobs)).toBe(1);
  expect(waiting.told).toEqual([[first, { state: "completed" }]]);
  expect(await completeJobs(services.apart.outbox, waiting, [])).toBe(0);
});

test.each([
  ["model_bad_output", "dead"],
  ["model_refused", "failed"],
  ["of another version", "dead"],
] as const)("a job with a row that was given up for %s ends as %s", async (code, state) => {
  const { services, createMemory, insert, claim } = openApart();
  const scope = await createMemory();
  const { job } = await insert(scope, ["beach", "museum"]);
  await claim("c");
  const [row] = await services.apart.outbox.claimed("c", LIMITS.rowLeaseMs);
  await services.apart.outbox.fail("c", [row!], { code, message: "no.", afterMs: 0, final: true });
  const waiting = new Waiting();
  expect(await followJobs(services.apart.outbox, waiting, [{ tenant: "default", job }])).toBe(1);
  const error = { code: code === "of another version" ? "internal" : code, details: { failed: 1 } };
  expect(waiting.told).toMatchObject([[job, { state, error }]]);
});

test("a replay waits for the rows of the job whose effects it has", async () => {
  const { services, createMemory, insert, claim } = openApart();
  const scope = await createMemory();
  const { job: first } = await insert(scope, ["beach"]);
  const replay = { tenant: "default", job: "job_replay", waitsFor: first };
  const waiting = new Waiting();
  expect(await followJobs(services.apart.outbox, waiting, [replay])).toBe(0);
  await claim("c");
  await embedRows(services, "c", { takenOver: 0 });
  expect(await followJobs(services.apart.outbox, waiting, [replay])).toBe(1);
  expect(waiting.told).toEqual([
    ["job_replay", 1],
    ["job_replay", { state: "completed" }],
  ]);
});
