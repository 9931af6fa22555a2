import { expect, test } from "@jest/globals";
import { checkHandlers } from "./check-handlers.js";
import { JOB_KINDS, JOB_NAMES, jobNameOf } from "./job-names.js";

const handle = async (): Promise<undefined> => undefined;
const named = (...names: string[]) => names.map((name) => ({ name, handle }));
const all = (): string[] => Object.values(JOB_NAMES).flat();

test("every job name with exactly one handler is accepted", () => {
  expect([...checkHandlers(JOB_KINDS, named(...all())).keys()].sort()).toEqual(all().sort());
});

test("a job name without a handler stops the start, and is named", () => {
  const handlers = named(...all().filter((name) => name !== "reembed"));
  expect(() => checkHandlers(JOB_KINDS, handlers)).toThrow(/job "reembed" has no handler/);
});

test("a job name with two handlers stops the start, and is named", () => {
  expect(() => checkHandlers(JOB_KINDS, named(...all(), "insert"))).toThrow(/job "insert" has 2 handlers/);
});

test("a handler of a job that no queue has stops the start", () => {
  expect(() => checkHandlers(["query"], named("query", "qury"))).toThrow(/no queue has a job "qury"/);
});

test("only the roles of this worker need handlers", () => {
  expect(checkHandlers(["query"], named("query")).size).toBe(1);
  expect(() => checkHandlers([], [])).not.toThrow();
});

test("a job's name is its payload's task, else its kind", () => {
  expect(jobNameOf("score", { task: "embed-fields" })).toBe("embed-fields");
  expect(jobNameOf("query", { query: "//A" })).toBe("query");
  expect(jobNameOf("query", null)).toBe("query");
});
