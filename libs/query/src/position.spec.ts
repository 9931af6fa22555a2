import { expect, test } from "@jest/globals";
import type { Position } from "./ast.js";
import { selectPositions } from "./position.js";

const select = (position: Position | undefined, count = 5): readonly number[] => {
  const { start, end } = selectPositions(position, count);
  return Array.from({ length: count }, (_, at) => at + 1).slice(start, end);
};
const index = (value: number): Position => ({ kind: "index", index: value });
const range = (from: number | undefined, to: number | undefined): Position => ({ kind: "range", from, to });

test.each<[string, Position | undefined, readonly number[]]>([
  ["none", undefined, [1, 2, 3, 4, 5]],
  ["[1]", index(1), [1]],
  ["[5]", index(5), [5]],
  ["[6]", index(6), []],
  ["[-1]", index(-1), [5]],
  ["[-5]", index(-5), [1]],
  ["[-6]", index(-6), []],
  ["[2:4]", range(2, 4), [2, 3, 4]],
  ["[4:2]", range(4, 2), []],
  ["[4:9]", range(4, 9), [4, 5]],
  ["[6:9]", range(6, 9), []],
  ["[-9:2]", range(-9, 2), [1, 2]],
  ["[-9:-7]", range(-9, -7), []],
  ["[-2:]", range(-2, undefined), [4, 5]],
  ["[:-4]", range(undefined, -4), [1, 2]],
  ["[:]", range(undefined, undefined), [1, 2, 3, 4, 5]],
  ["[2:-2]", range(2, -2), [2, 3, 4]],
])("%s of five selects", (_, position, expected) => {
  expect(select(position)).toEqual(expected);
});

test("of nothing, everything selects nothing", () => {
  for (const position of [undefined, index(1), index(-1), range(undefined, undefined), range(1, 2)]) {
    expect(select(position, 0)).toEqual([]);
  }
});
