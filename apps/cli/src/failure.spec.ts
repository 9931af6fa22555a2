import { expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import { CommandError } from "./command-error.js";
import { failureProblem, failureText } from "./failure.js";

test("what the server said is told to programs as it came, whatever a command put in front of it", () => {
  const problem = { code: "invalid_name", detail: "tree.type: no Name", status: 422 };
  const error = new CommandError("tree.type: no Name", { problem }).of("trip.json");
  expect(failureText(error)).toBe("trip.json: tree.type: no Name");
  expect(failureProblem(error)).toBe(problem);
});

test("failures of this machine have the same shape", () => {
  expect(failureProblem(new CommandError("Nothing answers."))).toEqual({
    type: "about:blank",
    title: "The command failed",
    detail: "Nothing answers.",
  });
  const error = new EspalierError("invalid_xml", "a DTD is not accepted", { details: { line: 2 } });
  expect(failureProblem(error)).toMatchObject({ code: "invalid_xml", detail: "a DTD is not accepted", line: 2 });
});

test("an error that nobody foresaw is told whole", () => {
  expect(failureText(new TypeError("x is not a function"))).toMatch(/x is not a function\n +at /);
});
