import { expect, test } from "@jest/globals";
import { followEvents, type FollowedJob } from "./job-events.js";
import type { JobRecord } from "./types.js";

const RECORD: JobRecord = {
  ...{ id: "job_1", tenant: "ten_a", memory: "mem_1", kind: "insert", state: "active" },
  ...{ progress: { done: 0, total: 0 }, createdAt: 1, attempts: 1 },
};

test("a job that is dropped before its end was read is told as unknown: nobody waits for its end", async () => {
  const job: FollowedJob = {
    register: () => () => undefined,
    watch: async () => RECORD,
    record: async () => RECORD,
    last: async () => undefined,
    read: async (from) => (from === "-" ? [["1-0", ["type", "state", "state", "active", "attempts", "1"]]] : []),
  };
  const seen: string[] = [];
  const followed = (async () => {
    for await (const { id } of followEvents(job, { signal: AbortSignal.timeout(5_000) })) seen.push(id);
  })();
  await expect(followed).rejects.toMatchObject({ code: "job_not_found" });
  expect(seen).toEqual(["1-0"]);
});
