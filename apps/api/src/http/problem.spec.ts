import { expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import { problemHeaders, problemOf } from "./problem.js";

test("details travel, but never replace a member of the problem", () => {
  const error = new EspalierError("syntax_error", "Line 1, column 3: …", {
    details: { line: 1, status: 200, code: "x" },
  });
  expect(problemOf(error, "r1")).toMatchObject({ code: "syntax_error", status: 400, line: 1, requestId: "r1" });
});

test("sentences and paths are cut, wherever they are; the line of a query is not", () => {
  const long = "x".repeat(5_000);
  const details = { path: long, errors: [{ path: long, message: long }], caret: `${long}\n^` };
  const text = JSON.stringify({ ...problemOf(new EspalierError("invalid_request", long, { details })), caret: "" });
  expect(text).not.toContain("x".repeat(200));
  expect(text).toContain(`${"x".repeat(199)}…`);
  expect(problemOf(new EspalierError("syntax_error", "", { details }))["caret"]).toBe(details.caret);
});

test("a thing of another tenant and a thing that does not exist read the same, whoever noticed", () => {
  const here = new EspalierError("memory_not_found", "No memory mem_1 of tenant b.", { details: { tenant: "b" } });
  const there = new EspalierError("memory_not_found", "Unknown id.");
  expect(problemOf(here, "r")).toEqual(problemOf(there, "r"));
});

test("what can succeed later says when to come back", () => {
  expect(problemHeaders(new EspalierError("queue_unavailable", ""))["retry-after"]).toBe("2");
  const slow = new EspalierError("model_overloaded", "", { details: { retryAfterSeconds: 7.2 } });
  expect(problemHeaders(slow)["retry-after"]).toBe("8");
  expect(problemHeaders(new EspalierError("scorer_unavailable", ""))["retry-after"]).toBeUndefined();
});

test("401 says how to authenticate", () => {
  expect(problemHeaders(new EspalierError("unauthorized", ""))["www-authenticate"]).toMatch(/^Bearer/);
});
