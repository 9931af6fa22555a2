import { expect, test } from "@jest/globals";
import { DeficitRing } from "./deficit-ring.js";

/** Serves one who always has work with rows of `size` tokens, up to `most` tokens a time. Answers who it was. */
function serve(ring: DeficitRing, sizeOf: (name: string) => number, most: number, served: Map<string, number>): void {
  const turn = ring.turn();
  if (turn === undefined) throw new Error("Nobody has work.");
  const size = sizeOf(turn.name);
  const tokens = Math.ceil(Math.min(turn.allowance, most) / size) * size;
  served.set(turn.name, (served.get(turn.name) ?? 0) + tokens);
  ring.served({ tokens, drained: false });
}

test("tokens are shared by weight, whatever the sizes of the rows and of the claims", () => {
  const weights: Readonly<Record<string, number>> = { a: 1, b: 1, c: 3 };
  const sizes: Readonly<Record<string, number>> = { a: 7, b: 900, c: 31 };
  const ring = new DeficitRing(200, (name) => weights[name] ?? 1);
  ring.sync(["a", "b", "c"]);
  const served = new Map<string, number>();
  for (let turn = 0; turn < 30_000; turn += 1) serve(ring, (name) => sizes[name] ?? 1, 64, served);
  const share = (name: string): number => (served.get(name) ?? 0) / (weights[name] ?? 1);
  for (const name of ["b", "c"]) expect(share(name) / share("a")).toBeCloseTo(1, 1);
});

test("a turn that the caller ends early goes on when it comes back, also after a look at who has work", () => {
  const ring = new DeficitRing(100, () => 1);
  ring.sync(["flood", "small"]);
  expect(ring.turn()).toEqual({ name: "flood", allowance: 100 });
  ring.served({ tokens: 40, drained: false });
  ring.sync(["flood", "small"]);
  expect(ring.turn()).toEqual({ name: "flood", allowance: 60 });
  ring.served({ tokens: 60, drained: false });
  ring.sync(["flood", "small"]);
  expect(ring.turn()?.name).toBe("small");
});

test("one who took too much pays before its next turn", () => {
  const ring = new DeficitRing(100, () => 1);
  ring.sync(["a", "b"]);
  ring.turn();
  ring.served({ tokens: 350, drained: false });
  const order: string[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    order.push(ring.turn()?.name ?? "");
    ring.served({ tokens: 100, drained: false });
  }
  expect(order).toEqual(["b", "b", "b", "a"]);
});

test("one whose work is done leaves, and comes back last and without what it had left", () => {
  const ring = new DeficitRing(100, () => 1);
  ring.sync(["a", "b"]);
  ring.turn();
  ring.served({ tokens: 10, drained: true });
  ring.sync(["a", "b"]);
  expect(ring.turn()).toEqual({ name: "b", allowance: 100 });
  ring.served({ tokens: 100, drained: true });
  expect(ring.turn()).toEqual({ name: "a", allowance: 100 });
  ring.sync(["c"]);
  expect(ring.turn()).toEqual({ name: "c", allowance: 100 });
  ring.sync([]);
  expect(ring.turn()).toBeUndefined();
});
