import { expect, test } from "@jest/globals";
import { until } from "../../../test/support/until.js";
import { Gathered } from "./gathered.js";

/** Calls that end when the test says so. */
function calls() {
  const made: { readonly items: readonly string[]; readonly end: (error?: Error) => void }[] = [];
  const call = (items: readonly string[]): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    made.push({
      items: [...items],
      end: (error) => {
        if (error === undefined) resolve(undefined);
        else reject(error);
      },
    });
    return promise;
  };
  return { made, call };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("what comes while a call is under way goes together in the next", async () => {
  const { made, call } = calls();
  const gathered = new Gathered(call, { most: 10, holdMs: 60_000 });
  const first = gathered.add("a");
  await turn();
  const others = [gathered.add("b"), gathered.add("c")];
  await turn();
  expect(made.map(({ items }) => items)).toEqual([["a"]]);
  made[0]?.end();
  await first;
  await turn();
  expect(made.map(({ items }) => items)).toEqual([["a"], ["b", "c"]]);
  made[1]?.end();
  await Promise.all(others);
});

test("a call that fails is told to those who went with it, and to no others", async () => {
  const { made, call } = calls();
  const gathered = new Gathered(call, { most: 10, holdMs: 60_000 });
  const first = gathered.add("a");
  await turn();
  const second = gathered.add("b");
  made[0]?.end(new Error("away"));
  await expect(first).rejects.toThrow("away");
  await turn();
  made[1]?.end();
  await expect(second).resolves.toBeUndefined();
});

test("a call has no more items than it may", async () => {
  const { made, call } = calls();
  const gathered = new Gathered(call, { most: 2, holdMs: 60_000 });
  for (const item of ["a", "b", "c", "d", "e"]) void gathered.add(item);
  for (let at = 0; at < 3; at += 1) {
    await turn();
    made[at]?.end();
  }
  expect(made.map(({ items }) => items)).toEqual([["a", "b"], ["c", "d"], ["e"]]);
});

test("a call whose answer is lost holds up the next for a while only", async () => {
  const { made, call } = calls();
  const gathered = new Gathered(call, { most: 10, holdMs: 5 });
  void gathered.add("lost");
  await turn();
  const next = gathered.add("next");
  await until(() => made[1]);
  made[1]?.end();
  await expect(next).resolves.toBeUndefined();
  expect(made.map(({ items }) => items)).toEqual([["lost"], ["next"]]);
});
