import { expect, test } from "@jest/globals";
import { parseWait } from "./prefer.js";

test("reads wait 30 s and writes do not wait when nothing is said, and nothing is said to be applied", () => {
  expect(parseWait(undefined, "read")).toEqual({ seconds: 30, applied: undefined });
  expect(parseWait(undefined, "write")).toEqual({ seconds: 0, applied: undefined });
});

test("a wait that is asked for is applied, among other preferences and in any case", () => {
  expect(parseWait("wait=5", "write")).toEqual({ seconds: 5, applied: "wait=5" });
  expect(parseWait('respond-async, Wait = "7"; x=1', "read")).toEqual({ seconds: 7, applied: "wait=7" });
  expect(parseWait("wait=0", "read")).toEqual({ seconds: 0, applied: "wait=0" });
});

test("more than 120 s is clamped, which the applied preference says", () => {
  expect(parseWait("wait=121", "read")).toEqual({ seconds: 120, applied: "wait=120" });
});

test("malformed waits are ignored, as RFC 7240 asks", () => {
  for (const header of ["wait=soon", "wait=-1", "wait", "waiting=3", "wait=1.5"]) {
    expect(parseWait(header, "write")).toEqual({ seconds: 0, applied: undefined });
  }
});
