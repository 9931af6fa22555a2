import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { BestFirst, byRank } from "./best-first.js";
import { holdsFor } from "./contract/seed.js";

const items = fc.array(fc.record({ value: fc.integer({ min: 0, max: 5 }), path: fc.stringMatching(/^a[0-3]$/) }));

test("keeps what sorting and cutting would keep, in that order", async () => {
  await holdsFor(500, fc.tuple(items, fc.nat(6)), async ([offered, limit]) => {
    const best = new BestFirst(limit);
    for (const item of offered) best.offer(item);
    expect(best.ranked()).toEqual([...offered].sort(byRank).slice(0, limit));
  });
});

test("the threshold is the least value kept once all places are taken, and nothing passes when there are none", () => {
  const best = new BestFirst(2);
  best.offer({ value: 5, path: "a" });
  expect(best.threshold).toBe(-Infinity);
  best.offer({ value: 3, path: "b" });
  expect(best.threshold).toBe(3);
  best.offer({ value: 4, path: "c" });
  expect(best.threshold).toBe(4);
  expect(new BestFirst(0).threshold).toBe(Infinity);
});
