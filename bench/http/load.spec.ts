import { expect, test } from "@jest/globals";
import { load } from "./load.js";

test("a load keeps its concurrency, makes every call once and counts the errors", async () => {
  let running = 0;
  let most = 0;
  let calls = 0;
  const result = await load(
    async () => {
      calls += 1;
      const mine = calls;
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      if (mine % 5 === 0) throw new Error("every fifth");
    },
    { concurrency: 4, count: 20 },
  );
  expect(calls).toBe(20);
  expect(most).toBe(4);
  expect(result.errors).toBe(4);
  expect(result.milliseconds).toHaveLength(16);
});
