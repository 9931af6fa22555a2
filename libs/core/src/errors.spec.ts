import { expect, test } from "@jest/globals";
import { ERRORS, EspalierError, toEspalierError } from "./errors.js";

test("every error has a title, an advice and a status that fits its category", () => {
  const allowed = {
    input: [400, 405, 415, 422],
    auth: [401, 403],
    not_found: [404],
    conflict: [409],
    limit: [400, 413, 422, 429],
    unavailable: [502, 503],
    internal: [500],
  };
  for (const [code, kind] of Object.entries(ERRORS)) {
    expect({ code, title: kind.title.length > 0, advice: kind.advice.length > 0 }).toEqual({
      code,
      title: true,
      advice: true,
    });
    expect({ code, fits: allowed[kind.category].includes(kind.status) }).toEqual({ code, fits: true });
  }
});

test("an unknown throw becomes internal, with its cause kept and its message not told", () => {
  const cause = new Error("password=hunter2");
  const error = toEspalierError(cause);
  expect(error.code).toBe("internal");
  expect(error.cause).toBe(cause);
  expect(error.message).not.toContain("hunter2");
});

test("an error of ours passes through unchanged", () => {
  const error = new EspalierError("memory_not_found", "No memory mem_x.", { details: { memory: "mem_x" } });
  expect(toEspalierError(error)).toBe(error);
  expect(error.kind.status).toBe(404);
});
