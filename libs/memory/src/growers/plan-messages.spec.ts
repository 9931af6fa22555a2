import { expect, test } from "@jest/globals";
import { aJob, aMemory } from "../testing/a-memory.js";
import { PlanningStore } from "../testing/planning-store.js";
import type { Message } from "./insert-request.js";
import { planMessages } from "./plan-messages.js";
import type { Plan } from "./plan.js";

const memory = aMemory({ structure: "conversation" });
let job = 0;

/** `10:00 Hello`, with the session's name in front of a bar if there is one: `s1|10:00 Hello`; `- Hello` has no time. */
function said(line: string): Message {
  const [, session, time, text = ""] = /^(?:(.*)\|)?(\S+) (.*)$/.exec(line) ?? [];
  return {
    speaker: "Ann",
    text,
    ...(time !== "-" && { time: `2026-05-02T${time}:00Z` }),
    ...(session !== undefined && { session }),
  };
}

async function append(store: PlanningStore, lines: readonly string[], conversation = "c1"): Promise<Plan> {
  job += 1;
  const plan = await planMessages(store, memory, { conversation, messages: lines.map(said) }, aJob(job));
  store.add(plan);
  return plan;
}

test("a first message makes its conversation, its session and its turn", async () => {
  const store = new PlanningStore();
  const { nodes, roots } = await append(store, ["10:00 Hello"]);
  expect(nodes.map(({ type, attributes }) => [type, attributes])).toEqual([
    ["Conversation", { name: "c1" }],
    ["Session", { name: "session-1", time: "2026-05-02T10:00:00Z" }],
    ["Turn", { speaker: "Ann", text: "Hello", time: "2026-05-02T10:00:00Z" }],
  ]);
  expect(roots).toEqual([nodes[0]!.id]);
});

test("a session ends with a gap of 30 minutes, within a request and between requests", async () => {
  const store = new PlanningStore();
  await append(store, ["10:00 one", "10:29 two", "10:59 three", "11:00 four"]);
  await append(store, ["11:29 five"]);
  const { roots } = await append(store, ["12:00 six"]);
  expect(store.outline()).toEqual([
    "1 Conversation c1",
    "2 Session session-1",
    "3 Turn one",
    "3 Turn two",
    "2 Session session-2",
    "3 Turn three",
    "3 Turn four",
    "3 Turn five",
    "2 Session session-3",
    "3 Turn six",
  ]);
  expect(roots).toEqual([store.states.find(({ attributes }) => attributes["name"] === "session-3")!.id]);
});

test("without a time no gap is measured", async () => {
  const store = new PlanningStore();
  await append(store, ["10:00 one", "- two", "23:00 three"]);
  expect(store.outline().filter((line) => line.includes("Session"))).toEqual(["2 Session session-1"]);
});

test("the order is arrival, whatever the times say", async () => {
  const store = new PlanningStore();
  await append(store, ["10:10 late", "10:00 early"]);
  expect(store.outline().slice(2)).toEqual(["3 Turn late", "3 Turn early"]);
});

test("named sessions append to the session of that name, and the next message goes on there", async () => {
  const store = new PlanningStore();
  await append(store, ["s1|10:00 one", "s2|15:00 two", "s1|15:01 three", "15:02 four"]);
  const { nodes } = await append(store, ["s1|18:00 five"]);
  expect(nodes.map(({ type }) => type)).toEqual(["Turn"]);
  expect(store.outline()).toEqual([
    "1 Conversation c1",
    "2 Session s1",
    "3 Turn one",
    "3 Turn three",
    "3 Turn four",
    "3 Turn five",
    "2 Session s2",
    "3 Turn two",
  ]);
});

test("a message without a session goes on where the last message went, in one request and in several", async () => {
  const lines = ["A|10:00 one", "B|10:05 two", "A|11:00 three", "11:05 four"];
  const together = new PlanningStore();
  await append(together, lines);
  const apart = new PlanningStore();
  for (const line of lines) await append(apart, [line]);
  const halves = new PlanningStore();
  await append(halves, lines.slice(0, 3));
  await append(halves, lines.slice(3));
  expect(together.outline()).toEqual([
    ...["1 Conversation c1", "2 Session A", "3 Turn one", "3 Turn three", "3 Turn four"],
    ...["2 Session B", "3 Turn two"],
  ]);
  expect(apart.outline()).toEqual(together.outline());
  expect(halves.outline()).toEqual(together.outline());
});

test("a session that began by itself is the one of its name, in the same request and in the next", async () => {
  const together = new PlanningStore();
  await append(together, ["10:00 one", "session-1|10:01 two"]);
  const apart = new PlanningStore();
  await append(apart, ["10:00 one"]);
  await append(apart, ["session-1|10:01 two"]);
  expect(together.outline()).toEqual(["1 Conversation c1", "2 Session session-1", "3 Turn one", "3 Turn two"]);
  expect(apart.outline()).toEqual(together.outline());
});

test("a session that begins by itself takes no name that a caller has given", async () => {
  const store = new PlanningStore();
  await append(store, ["session-2|09:00 zero", "10:00 one"]);
  await append(store, ["11:00 two"]);
  const names = store.outline().filter((line) => line.includes("Session"));
  expect(names).toEqual(["2 Session session-2", "2 Session session-3", "2 Session session-4"]);
});

test("conversations stand beside each other", async () => {
  const store = new PlanningStore();
  await append(store, ["10:00 one"], "c1");
  await append(store, ["10:01 two"], "c2");
  await append(store, ["10:02 three"], "c1");
  expect(store.outline()).toEqual([
    "1 Conversation c1",
    "2 Session session-1",
    "3 Turn one",
    "3 Turn three",
    "1 Conversation c2",
    "2 Session session-1",
    "3 Turn two",
  ]);
});

test("the same job plans the same ids", async () => {
  const insert = { conversation: "c", messages: [said("10:00 a"), said("12:00 b")] };
  const [first, second] = await Promise.all(
    [1, 2].map(() => planMessages(new PlanningStore(), memory, insert, aJob(9_999))),
  );
  expect(second).toEqual(first);
  expect(new Set(first!.nodes.map(({ id }) => id)).size).toBe(5);
});
