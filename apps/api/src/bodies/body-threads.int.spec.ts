import { afterEach, expect, test } from "@jest/globals";
import { LIMITS } from "#core";
import { bodyThreadsOfSources } from "../../../../test/support/body-threads.js";
import type { BodyThreads } from "./body-threads.js";
import type { LargeBodyTask } from "./check-large-body.js";

let threads: BodyThreads;

afterEach(async () => {
  await threads.close();
});

function task(body: unknown, more: Partial<LargeBodyTask> = {}): LargeBodyTask {
  return { name: "query", bytes: new TextEncoder().encode(JSON.stringify(body)), context: {}, hashed: false, ...more };
}

test("a body comes back checked, with its defaults, and with its hash if that is wanted", async () => {
  threads = bodyThreadsOfSources();
  const { checked, hash } = await threads.check(task({ query: "//Day" }));
  expect(checked).toMatchObject({ query: "//Day", topK: 10, validate: true });
  expect(hash).toBe("");
  expect((await threads.check(task({ query: "//Day" }, { hashed: true }))).hash).toMatch(/^[0-9a-f]{64}$/);
});

test("an insert comes back as the JSON of its job", async () => {
  threads = bodyThreadsOfSources();
  const { insert } = await threads.check(
    task({ messages: [{ speaker: "Ann", text: "Hi" }] }, { name: "insert", context: { structure: "conversation" } }),
  );
  expect(JSON.parse(new TextDecoder().decode(insert?.json))).toEqual({
    conversation: "default",
    messages: [{ speaker: "Ann", text: "Hi" }],
  });
});

test("an error comes back with its code, its message and its details", async () => {
  threads = bodyThreadsOfSources();
  await expect(threads.check(task({ query: "//Day[" }))).rejects.toMatchObject({
    code: "syntax_error",
    details: { line: 1, column: 7 },
  });
});

test("more bodies than may wait are refused, the others are checked", async () => {
  threads = bodyThreadsOfSources();
  const room = LIMITS.largeBodyThreads + LIMITS.largeBodiesWaiting;
  const all = Array.from({ length: room + 3 }, () => threads.check(task({ query: "//Day" })));
  const ends = await Promise.allSettled(all);
  expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(room);
  for (const end of ends.slice(room)) {
    expect(end).toMatchObject({ status: "rejected", reason: { code: "too_many_large_bodies" } });
  }
});
