import { expect, test } from "@jest/globals";
import { inTime } from "./in-time.js";

const late = (): Error => new Error("late");

test("a call that ends in time answers, or fails, as it does by itself, and leaves no timer", async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = timers();
  expect(await inTime(Promise.resolve(1), 60_000, late)).toBe(1);
  await expect(inTime(Promise.reject(new Error("its own")), 60_000, late)).rejects.toThrow("its own");
  expect(timers()).toBe(before);
});

test("a call that lasts longer is late, and what becomes of it then troubles nobody", async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  await expect(inTime(promise, 1, late)).rejects.toThrow("late");
  reject(new Error("too late to be heard"));
  await new Promise((resolve) => setTimeout(resolve, 5));
});
