import { expect, test } from "@jest/globals";
import { Pressure } from "./pressure.js";

const never = new AbortController().signal;

test("pauses double while it lasts, up to some seconds, and begin anew when it was relieved", async () => {
  const pauses: number[] = [];
  const pressure = new Pressure(
    () => 1,
    async (milliseconds) => void pauses.push(milliseconds),
  );
  for (let pause = 0; pause < 7; pause += 1) await pressure.pause(never);
  expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  pressure.relieve();
  await pressure.pause(never);
  expect(pauses.at(-1)).toBe(500);
});

test("half of a pause is random", async () => {
  const pauses: number[] = [];
  const pressure = new Pressure(
    () => 0,
    async (milliseconds) => void pauses.push(milliseconds),
  );
  await pressure.pause(never);
  expect(pauses).toEqual([250]);
});

test("a worker that stops does not wait for the end of a pause", async () => {
  await new Pressure(() => 1).pause(AbortSignal.abort());
});
