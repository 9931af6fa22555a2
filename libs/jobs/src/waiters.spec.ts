import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { EventEmitter } from "node:events";
import type { Redis } from "ioredis";
import { LIMITS } from "#core";
import { Waiters } from "./waiters.js";

class Subscriber extends EventEmitter {
  subscribe(): Promise<void> {
    return Promise.resolve();
  }
  disconnect(): void {
    this.removeAllListeners();
  }
  asRedis(): Redis {
    return this as unknown as Redis;
  }
}

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

test("however many wait, only so many look for themselves at once, each in its turn; all do after a new connection", () => {
  const subscriber = new Subscriber();
  const waiters = new Waiters(subscriber.asRedis(), "wake", 1_000);
  const looks = new Array<number>(5_000).fill(0);
  const leave = looks.map((_, at) => waiters.register(`ten_a.job_${at}`, () => (looks[at] = (looks[at] ?? 0) + 1)));
  const total = (): number => looks.reduce((sum, count) => sum + count, 0);
  jest.advanceTimersByTime(1_000);
  expect(total()).toBe(LIMITS.polledWaiters);
  jest.advanceTimersByTime(1_000 * (looks.length / LIMITS.polledWaiters - 1));
  expect(new Set(looks)).toEqual(new Set([1]));
  subscriber.emit("ready");
  expect(new Set(looks)).toEqual(new Set([2]));
  for (const one of leave.slice(1)) one();
  jest.advanceTimersByTime(3_000);
  expect(looks[0]).toBe(5);
  waiters.close();
});
