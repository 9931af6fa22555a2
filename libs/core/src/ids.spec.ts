import { expect, test } from "@jest/globals";
import { derivedNodeId, idFromUuid, isId, randomId, uuidOf } from "./ids.js";

test("a second attempt of a job derives the same node ids, another job or ordinal does not", () => {
  const job = randomId("job");
  expect(derivedNodeId(job, 7)).toBe(derivedNodeId(job, 7));
  expect(derivedNodeId(job, 7)).not.toBe(derivedNodeId(job, 8));
  expect(derivedNodeId(job, 7)).not.toBe(derivedNodeId(randomId("job"), 7));
});

test("an id is recognised by its prefix and its form", () => {
  const id = randomId("mem");
  expect(isId("mem", id)).toBe(true);
  expect(isId("nod", id)).toBe(false);
  expect(isId("mem", `${id}x`)).toBe(false);
  expect(isId("mem", "mem_")).toBe(false);
  expect(isId("mem", "")).toBe(false);
});

test("an id and its UUID name each other", () => {
  const id = randomId("nod");
  expect(idFromUuid("nod", uuidOf(id))).toBe(id);
});
