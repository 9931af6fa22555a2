import { expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import { WriteQueue } from "./write-queue.js";

const scope = { tenant: "t", memory: "m" };

/** Work that ends when the test says so. */
function job(): { readonly work: () => Promise<void>; readonly end: () => void; readonly begun: Promise<void> } {
  const [running, beginning] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  return {
    begun: beginning.promise,
    end: () => {
      running.resolve(undefined);
    },
    work: async () => {
      beginning.resolve(undefined);
      await running.promise;
    },
  };
}

test("writers of a memory run one after the other, in the order in which they came", async () => {
  const queue = new WriteQueue();
  const events: string[] = [];
  const writer = (name: string): Promise<void> =>
    queue.run(scope, undefined, async () => {
      events.push(`${name} begins`);
      await Promise.resolve();
      events.push(`${name} ends`);
    });
  await Promise.all(["a", "b", "c"].map(writer));
  expect(events).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
});

test("memories and tenants do not wait for each other", async () => {
  const queue = new WriteQueue();
  const first = job();
  const running = queue.run(scope, undefined, first.work);
  await first.begun;
  expect(await queue.run({ ...scope, memory: "other" }, undefined, async () => "ran")).toBe("ran");
  expect(await queue.run({ ...scope, tenant: "other" }, undefined, async () => "ran")).toBe("ran");
  first.end();
  await running;
});

test("a writer that is cancelled while it waits gives up at once, and the next one still waits for the first", async () => {
  const queue = new WriteQueue();
  const controller = new AbortController();
  const [first, last] = [job(), job()];
  const running = queue.run(scope, undefined, first.work);
  const waiting = queue.run(scope, controller.signal, async () => "never");
  const after = queue.run(scope, undefined, last.work);
  controller.abort(new EspalierError("cancelled", "The job was cancelled."));
  await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
  const order: string[] = [];
  void last.begun.then(() => order.push("last begins"));
  order.push("first ends");
  first.end();
  await running;
  last.end();
  await after;
  expect(order).toEqual(["first ends", "last begins"]);
});

test("work that throws gives its turn back", async () => {
  const queue = new WriteQueue();
  await expect(queue.run(scope, undefined, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect(await queue.run(scope, undefined, async () => "ran")).toBe("ran");
});
