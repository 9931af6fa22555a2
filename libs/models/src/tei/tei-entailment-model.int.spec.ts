import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { FakeModelServer } from "../../../../test/support/fake-model-server.js";
import { TeiEntailmentModel } from "./tei-entailment-model.js";

const PATIENCE = { timeoutMs: 5_000, retries: 2, pauseMs: 1 };
const PAIR = { premise: "a poster session in the hall", hypothesis: "poster session" };

let server: FakeModelServer;
let model: TeiEntailmentModel;
beforeAll(async () => {
  server = await FakeModelServer.start({ labels: ["ENTAILMENT", "Neutral", "contradiction"], maxBatch: 4 });
  model = await TeiEntailmentModel.open({ url: server.url, patience: PATIENCE });
});
afterEach(() => {
  server.reset();
});
afterAll(() => server.stop());

test("labels are mapped by their names, in whatever order a pair has them", async () => {
  const answers = await model.entail([PAIR, { premise: "a poster", hypothesis: "museum visit" }]);
  expect(answers).toEqual([
    { entailment: 0.8, neutral: 0.2, contradiction: 0 },
    { entailment: 0, neutral: 0.2, contradiction: 0.8 },
  ]);
});

test("halves a batch that the server finds too large", async () => {
  const answers = await model.entail(Array.from({ length: 11 }, () => PAIR));
  expect(answers).toHaveLength(11);
  expect(answers.every(({ entailment }) => entailment === 0.8)).toBe(true);
});

test("sends pairs, and lets the server truncate", async () => {
  await model.entail([PAIR]);
  expect(server.calls[0]!.body).toEqual({
    inputs: [[PAIR.premise, PAIR.hypothesis]],
    raw_scores: false,
    truncate: true,
  });
});

test.each([429, 503])("tries again after %d", async (status) => {
  server.misbehave({ kind: "status", status });
  expect(await model.entail([PAIR])).toHaveLength(1);
  expect(server.calls).toHaveLength(2);
});

test.each([{ kind: "half batch" }, { kind: "wrong dimension" }, { kind: "not json" }] as const)(
  "refuses a broken answer: $kind",
  async (how) => {
    server.misbehave(how);
    const failure: unknown = await model.entail([PAIR, PAIR]).catch((error: unknown) => error);
    expect(["model_bad_output", "scorer_unavailable"]).toContain((failure as { code: string }).code);
  },
);

test("takes back its request when the work is cancelled", async () => {
  const controller = new AbortController();
  server.misbehave({ kind: "hang" });
  const running = model.entail([PAIR], controller.signal).catch((error: unknown) => error);
  while (server.calls.length === 0) await new Promise(setImmediate);
  controller.abort();
  expect(await running).toMatchObject({ code: "cancelled" });
  expect(await server.calls[0]!.aborted).toBe(true);
});

test("a server whose classifier has other labels is refused by them", async () => {
  const other = await FakeModelServer.start({ labels: ["toxic", "fine"] });
  await expect(TeiEntailmentModel.open({ url: other.url, patience: PATIENCE })).rejects.toMatchObject({
    code: "scorer_unavailable",
    message: expect.stringContaining("toxic, fine"),
  });
  await other.stop();
});
