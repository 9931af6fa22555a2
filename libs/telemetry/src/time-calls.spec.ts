import { expect, test } from "@jest/globals";
import { timeCalls, type TimedCall } from "./time-calls.js";

class Store {
  readonly #rows = ["a"];
  readonly name = "store";
  async run(from: number): Promise<readonly string[]> {
    return this.#rows.slice(from);
  }
  async fail(): Promise<never> {
    throw new Error("down");
  }
}

test("every call is timed, also one that fails, and answers as before", async () => {
  const calls: TimedCall[] = [];
  const store = timeCalls(new Store(), (call) => calls.push(call));
  expect(await store.run(0)).toEqual(["a"]);
  await expect(store.fail()).rejects.toThrow("down");
  expect(calls.map(({ op }) => op)).toEqual(["run", "fail"]);
  expect(calls.every(({ milliseconds }) => milliseconds >= 0)).toBe(true);
  expect(store.name).toBe("store");
});
