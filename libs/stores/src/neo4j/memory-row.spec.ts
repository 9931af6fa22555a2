import { expect, test } from "@jest/globals";
import type { Cells } from "./database.js";
import { splitMemory } from "./memory-row.js";

const row = (...cells: readonly unknown[]): Cells => ({ get: (place) => cells[place], toObject: () => ({}) });

const MEMORY = row(7, null);
const NODES = [row(1, "a"), row(2, "b")] as const;

test("the memory's row is found wherever the server puts it", () => {
  for (const at of [0, 1, 2]) {
    expect(splitMemory(NODES.toSpliced(at, 0, MEMORY))).toEqual({ purged: 7, rows: NODES });
  }
});

test("without its row the memory is not there, whatever rows of it are left", () => {
  expect(splitMemory([]).purged).toBeUndefined();
  expect(splitMemory(NODES).purged).toBeUndefined();
});
