import { expect, test } from "@jest/globals";
import { judge } from "./judge.js";

const rows = [
  { path: "/A[1]", score: 0.9 },
  { path: "/A[2]", score: 0.8 },
  { path: "/A[3]", score: 0.8 },
];

test("the order among the right nodes does not matter", () => {
  expect(judge(rows.slice(0, 2), ["/A[2]", "/A[1]"])).toEqual({ pass: true, missing: [], intruders: [] });
});

test("a right node below the line is missing and the wrong one is an intruder", () => {
  expect(judge(rows, ["/A[3]"])).toEqual({ pass: false, missing: ["/A[3]"], intruders: ["/A[1]"] });
});

test("a wrong node that ties with the last right one is an intruder", () => {
  expect(judge(rows, ["/A[1]", "/A[2]"])).toEqual({ pass: false, missing: [], intruders: ["/A[3]"] });
});

test("too few rows miss the rest", () => {
  expect(judge([], ["/A[1]"])).toEqual({ pass: false, missing: ["/A[1]"], intruders: [] });
});
