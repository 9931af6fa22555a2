import { describe, expect, test } from "@jest/globals";
import { EspalierError, LIMITS } from "#core";
import { MicroBatcher, type BatchReport, type MicroBatcherOptions } from "./micro-batcher.js";

/** A model whose calls the test ends by hand. Items are words; a word's length is its tokens; the output is upper case. */
class HandModel {
  readonly calls: { items: readonly string[]; signal: AbortSignal; end: (error?: EspalierError) => void }[] = [];

  readonly run = (items: readonly string[], signal: AbortSignal): Promise<readonly string[]> =>
    new Promise((resolve, reject) => {
      const end = (error?: EspalierError): void => {
        if (error === undefined) resolve(items.map((item) => item.toUpperCase()));
        else reject(error);
      };
      signal.addEventListener("abort", () => {
        reject(signal.reason as EspalierError);
      });
      this.calls.push({ items, signal, end });
    });
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const oom = (): EspalierError => new EspalierError("model_out_of_memory", "full");

function batcherOf(
  run: MicroBatcherOptions<string, string>["run"],
  options: Partial<MicroBatcherOptions<string, string>> = {},
): MicroBatcher<string, string> {
  return new MicroBatcher({
    run,
    countTokens: (item) => item.length,
    batching: { inFlight: 1, batchItems: 4, batchTokens: 1_000 },
    now: () => 0,
    ...options,
  });
}

const outputOf = async (submitted: Promise<{ output: string }>): Promise<string> => (await submitted).output;

describe("gathering", () => {
  test("a lone item goes at once, without a timer", async () => {
    const model = new HandModel();
    const output = outputOf(batcherOf(model.run).submit("a"));
    await Promise.resolve();
    expect(model.calls).toHaveLength(1);
    model.calls[0]!.end();
    expect(await output).toBe("A");
  });

  test("items of one moment share a call, and what comes while the model is busy shares the next", async () => {
    const model = new HandModel();
    const batcher = batcherOf(model.run);
    const all = [batcher.submit("a"), batcher.submit("b")];
    await settled();
    all.push(batcher.submit("c"), batcher.submit("d"), batcher.submit("e"));
    await settled();
    expect(model.calls.map(({ items }) => items)).toEqual([["a", "b"]]);
    model.calls[0]!.end();
    await settled();
    expect(model.calls[1]!.items).toEqual(["c", "d", "e"]);
    model.calls[1]!.end();
    expect((await Promise.all(all)).map(({ output, callItems }) => `${output}${callItems}`)).toEqual([
      "A2",
      "B2",
      "C3",
      "D3",
      "E3",
    ]);
  });

  test("a batch is sorted by length and kept under the padded token budget", async () => {
    const model = new HandModel();
    const batcher = batcherOf(model.run, { batching: { inFlight: 1, batchItems: 10, batchTokens: 12 } });
    for (const item of ["xxxx", "yyyyyyyyyyyy", "zz", "wwwww"]) void batcher.submit(item);
    await settled();
    // The oldest has its turn with its nearest in length: three of five tokens would be 15, so "wwwww" waits.
    expect(model.calls[0]!.items).toEqual(["xxxx", "wwwww"]);
    model.calls[0]!.end();
    await settled();
    expect(model.calls[1]!.items).toEqual(["yyyyyyyyyyyy"]);
  });

  test("an item over the budget goes alone", async () => {
    const model = new HandModel();
    const batcher = batcherOf(model.run, { batching: { inFlight: 1, batchItems: 4, batchTokens: 3 } });
    void batcher.submit("longer than three");
    void batcher.submit("a");
    await settled();
    expect(model.calls[0]!.items).toEqual(["longer than three"]);
  });

  test("no length starves: the oldest item is in the next batch", async () => {
    const model = new HandModel();
    const batcher = batcherOf(model.run, { batching: { inFlight: 1, batchItems: 2, batchTokens: 100 } });
    void batcher.submit("first");
    await settled();
    void batcher.submit("a very much longer item");
    for (let index = 0; index < 20; index += 1) void batcher.submit("aa");
    model.calls[0]!.end();
    await settled();
    expect(model.calls[1]!.items).toContain("a very much longer item");
  });

  test("an urgent item goes before those that wait", async () => {
    const model = new HandModel();
    const batcher = batcherOf(model.run, { batching: { inFlight: 1, batchItems: 1, batchTokens: 100 } });
    void batcher.submit("running");
    await settled();
    void batcher.submit("insert");
    void batcher.submit("query", { urgent: true });
    model.calls[0]!.end();
    await settled();
    expect(model.calls[1]!.items).toEqual(["query"]);
  });

  test("a server that batches by itself has several calls in flight, and no more", async () => {
    const model = new HandModel();
    const batcher = batcherOf(model.run, { batching: { inFlight: 3, batchItems: 1, batchTokens: 100 } });
    for (const item of ["a", "b", "c", "d"]) void batcher.submit(item);
    await settled();
    expect(model.calls).toHaveLength(3);
    model.calls[1]!.end();
    await settled();
    expect(model.calls).toHaveLength(4);
  });

  test("a full queue refuses at once, naming its limit", async () => {
    const batcher = batcherOf(new HandModel().run, { queueItems: 2 });
    void batcher.submit("a");
    void batcher.submit("b");
    await expect(batcher.submit("c")).rejects.toMatchObject({ code: "model_overloaded", details: { limit: 2 } });
  });
});

describe("failures", () => {
  /** A model on which some items break the batch that they are in. */
  const fragile =
    (code: "model_out_of_memory" | "model_bad_output", calls: string[][]) => async (items: readonly string[]) => {
      calls.push([...items]);
      if (items.some((item) => item.startsWith("bad"))) throw new EspalierError(code, "broken");
      return items.map((item) => item.toUpperCase());
    };

  test.each(["model_out_of_memory", "model_bad_output"] as const)(
    "a batch that fails with %s is halved until the offender stands alone",
    async (code) => {
      const calls: string[][] = [];
      const batcher = batcherOf(fragile(code, calls), { batching: { inFlight: 1, batchItems: 8, batchTokens: 1_000 } });
      const outcomes = await Promise.allSettled(
        ["aa", "ab", "ac", "ad", "ae", "bad", "ag", "ah"].map((item) => outputOf(batcher.submit(item))),
      );
      expect(outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : "failed"))).toEqual([
        "AA",
        "AB",
        "AC",
        "AD",
        "AE",
        "failed",
        "AG",
        "AH",
      ]);
      expect(outcomes[5]).toMatchObject({ reason: { code } });
      expect(calls.length).toBeLessThanOrEqual(1 + 2 * 3);
    },
  );

  test("out of memory only together: both halves succeed", async () => {
    const run = async (items: readonly string[]): Promise<readonly string[]> => {
      if (items.length > 2) throw oom();
      return items;
    };
    const batcher = batcherOf(run);
    const outputs = await Promise.all(["a", "b", "c", "d"].map((item) => outputOf(batcher.submit(item))));
    expect(outputs).toEqual(["a", "b", "c", "d"]);
  });

  test("a model that always fails costs a bounded number of calls", async () => {
    const calls: string[][] = [];
    const batcher = batcherOf(fragile("model_bad_output", calls), {
      batching: { inFlight: 1, batchItems: 32, batchTokens: 10_000 },
    });
    const items = Array.from({ length: 32 }, (_, index) => `bad ${index}`);
    const outcomes = await Promise.allSettled(items.map((item) => batcher.submit(item)));
    expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
    expect(calls.length).toBeLessThanOrEqual(LIMITS.modelBatchFailures + 32);
  });

  test("every second item breaks its batch: the others are answered, in a bounded number of calls", async () => {
    const calls: string[][] = [];
    const batcher = batcherOf(fragile("model_bad_output", calls), {
      batching: { inFlight: 1, batchItems: 32, batchTokens: 10_000 },
    });
    const items = Array.from({ length: 32 }, (_, index) => (index % 2 === 0 ? `bad ${index}` : `fine ${index}`));
    const outcomes = await Promise.allSettled(items.map((item) => outputOf(batcher.submit(item))));
    expect(outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : "failed"))).toEqual(
      items.map((item) => (item.startsWith("bad") ? "failed" : item.toUpperCase())),
    );
    expect(calls.length).toBeLessThanOrEqual(LIMITS.modelBatchFailures + 32);
  });

  test("a server that refuses the key is asked once a batch", async () => {
    let calls = 0;
    const refusal = new EspalierError("model_refused", "no", { details: { status: 401 } });
    const batcher = batcherOf(() => {
      calls += 1;
      return Promise.reject(refusal);
    });
    for (const outcome of await Promise.allSettled([batcher.submit("a"), batcher.submit("b")])) {
      expect(outcome).toMatchObject({ reason: refusal });
    }
    expect(calls).toBe(1);
  });

  test("an overloaded model fails the whole batch without more calls", async () => {
    const model = new HandModel();
    const batcher = batcherOf(model.run);
    const both = Promise.allSettled([batcher.submit("a"), batcher.submit("b")]);
    await settled();
    model.calls[0]!.end(new EspalierError("model_overloaded", "busy"));
    for (const outcome of await both) expect(outcome).toMatchObject({ reason: { code: "model_overloaded" } });
    expect(model.calls).toHaveLength(1);
  });

  test("an answer of another length is refused, item by item", async () => {
    const batcher = batcherOf(async () => []);
    await expect(batcher.submit("a")).rejects.toMatchObject({
      code: "model_bad_output",
      details: { expected: 1, received: 0 },
    });
  });

  test("a throw that is not ours becomes an internal error with its cause", async () => {
    const cause = new TypeError("bug");
    const batcher = batcherOf(() => Promise.reject(cause));
    await expect(batcher.submit("a")).rejects.toMatchObject({ code: "internal", cause });
  });

  test("the batcher goes on after a failure", async () => {
    let calls = 0;
    const batcher = batcherOf(async (items) => {
      calls += 1;
      if (calls === 1) throw new EspalierError("model_unavailable", "down");
      return items;
    });
    await expect(batcher.submit("a")).rejects.toMatchObject({ code: "model_unavailable" });
    expect(await outputOf(batcher.submit("b"))).toBe("b");
  });
});

describe("cancellation", () => {
  test("an aborted item leaves the queue and never reaches the model", async () => {
    const model = new HandModel();
    const batcher = batcherOf(model.run);
    const controller = new AbortController();
    void batcher.submit("running");
    await settled();
    const gone = batcher.submit("gone", { signal: controller.signal });
    const stays = outputOf(batcher.submit("stays"));
    controller.abort();
    await expect(gone).rejects.toMatchObject({ code: "cancelled" });
    expect(batcher.waiting).toBe(1);
    model.calls[0]!.end();
    await settled();
    expect(model.calls[1]!.items).toEqual(["stays"]);
    model.calls[1]!.end();
    expect(await stays).toBe("STAYS");
  });

  test("a running call goes on while one of its items is wanted", async () => {
    const model = new HandModel();
    const batcher = batcherOf(model.run);
    const controller = new AbortController();
    const gone = batcher.submit("gone", { signal: controller.signal });
    const stays = outputOf(batcher.submit("stays"));
    await settled();
    controller.abort();
    await expect(gone).rejects.toMatchObject({ code: "cancelled" });
    expect(model.calls[0]!.signal.aborted).toBe(false);
    model.calls[0]!.end();
    expect(await stays).toBe("STAYS");
  });

  test("a running call is aborted when none of its items is wanted any more", async () => {
    const model = new HandModel();
    const batcher = batcherOf(model.run);
    const controller = new AbortController();
    const both = Promise.allSettled([
      batcher.submit("a", { signal: controller.signal }),
      batcher.submit("b", { signal: controller.signal }),
    ]);
    await settled();
    controller.abort();
    for (const outcome of await both) expect(outcome).toMatchObject({ reason: { code: "cancelled" } });
    expect(model.calls[0]!.signal.aborted).toBe(true);
    const later = batcher.submit("later");
    await settled();
    expect(model.calls[1]!.items).toEqual(["later"]);
    model.calls[1]!.end();
    expect(await outputOf(later)).toBe("LATER");
  });

  test("an item that is aborted before it is submitted never enters the queue", async () => {
    const batcher = batcherOf(new HandModel().run);
    await expect(batcher.submit("a", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "cancelled" });
    expect(batcher.waiting).toBe(0);
  });

  test("the signal's own reason is the error when it is one of ours", async () => {
    const reason = new EspalierError("model_timeout", "too late");
    const batcher = batcherOf(new HandModel().run);
    await expect(batcher.submit("a", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

test("every call is reported with its size, time and failure", async () => {
  const reports: BatchReport[] = [];
  let time = 0;
  const batcher = batcherOf(
    async (items) => {
      time += 5;
      if (items.length > 1) throw oom();
      return items;
    },
    { now: () => time, onBatch: (report) => reports.push(report) },
  );
  await Promise.all([batcher.submit("a"), batcher.submit("bb")]);
  expect(reports).toEqual([
    { items: 2, tokens: 3, milliseconds: 5, failure: "model_out_of_memory" },
    { items: 1, tokens: 1, milliseconds: 5 },
    { items: 1, tokens: 2, milliseconds: 5 },
  ]);
});
