import { expect, test } from "@jest/globals";
import { sharedHealthCheck } from "./health.js";

test("those who ask while dependencies are asked share one answer, and the next one is fresh", async () => {
  let asked = 0;
  let up = true;
  const check = sharedHealthCheck([
    {
      name: "store",
      check: async () => {
        asked += 1;
        if (!up) throw new Error("away");
      },
    },
  ]);
  const answers = await Promise.all(Array.from({ length: 100 }, check));
  expect(new Set(answers).size).toBe(1);
  expect([asked, answers[0]?.status]).toEqual([1, "ready"]);
  up = false;
  const later = await check();
  expect([asked, later.status, later.dependencies["store"]?.state]).toEqual([2, "unavailable", "down"]);
});
