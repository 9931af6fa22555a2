import { expect, test } from "@jest/globals";
import type { EspalierError } from "#core";
import { startLoop, type Loop, type LoopTurn } from "./start-loop.js";

/** A loop whose turns end when the test says so. */
function stepping(everyMs: number) {
  const begun: PromiseWithResolvers<LoopTurn>[] = [];
  const errors: EspalierError[] = [];
  let waiting = Promise.withResolvers<undefined>();
  const loop: Loop = startLoop({
    ...{ everyMs, random: () => 0.5, onError: (error: EspalierError) => errors.push(error) },
    turn: () => {
      const turn = Promise.withResolvers<LoopTurn>();
      begun.push(turn);
      waiting.resolve(undefined);
      return turn.promise;
    },
  });
  /** Waits until so many turns have begun. */
  const until = async (turns: number): Promise<PromiseWithResolvers<LoopTurn>> => {
    while (begun.length < turns) {
      waiting = Promise.withResolvers();
      await waiting.promise;
    }
    return begun[turns - 1]!;
  };
  return { loop, begun, errors, until };
}

const LONG_MS = 3_600_000;

/** All that is ready to happen has happened. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("turns follow each other while there is more to do, and after a pause when there is not", async () => {
  const { loop, until } = stepping(1);
  (await until(1)).resolve("more");
  (await until(2)).resolve("done");
  (await until(3)).resolve("done");
  await until(4);
  const stopped = loop.stop();
  (await until(4)).resolve("done");
  await stopped;
});

test("a wake ends a pause, and one during a turn makes the next follow at once", async () => {
  const { loop, begun, until } = stepping(LONG_MS);
  (await until(1)).resolve("done");
  await settled();
  expect(begun).toHaveLength(1);
  loop.wake();
  const second = await until(2);
  loop.wake();
  second.resolve("done");
  (await until(3)).resolve("done");
  await settled();
  expect(begun).toHaveLength(3);
  await loop.stop();
});

test("after a turn that failed there is a pause, also if there was a wake in it", async () => {
  const { loop, begun, errors, until } = stepping(LONG_MS);
  const first = await until(1);
  loop.wake();
  first.reject(new Error("down"));
  await settled();
  expect(begun).toHaveLength(1);
  expect(errors).toMatchObject([{ code: "internal" }]);
  await loop.stop();
});

test("a stop waits for the turn under way, and no other begins", async () => {
  const { loop, begun, until } = stepping(1);
  const first = await until(1);
  let over = false;
  const stopped = loop.stop().then(() => (over = true));
  await settled();
  expect(over).toBe(false);
  first.resolve("more");
  await stopped;
  expect(begun).toHaveLength(1);
});
