/** Rows of the failure table about the model server. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "@jest/globals";
import type { Misbehaviour } from "../support/fake-model-server.js";
import { until } from "../support/until.js";
import { chaosRow, LONG } from "./row.js";
import { systemForRows } from "./system-for-rows.js";
import type { System } from "./system.js";

const PATIENCE_MS = 120_000;

/** A request that hangs is given up after this in the short form. */
const REQUEST_MS = 1_500;

let system: System;

systemForRows(
  (started) => {
    system = started;
  },
  {},
  LONG ? {} : { limits: { modelRequestMs: REQUEST_MS } },
);

const compare = () => system.ledger.compare(system.stores);

interface Outage {
  readonly name: string;
  readonly holds: string;
  readonly how: Misbehaviour;
  readonly longMs: number;
}

const OUTAGES: readonly Outage[] = [
  {
    ...{ name: "model-overloaded", holds: "the model server answers 429: everything waits, and nothing fails" },
    // Longer than all attempts of a job take.
    ...{ how: { kind: "status", status: 429 }, longMs: 60_000 },
  },
  {
    ...{ name: "model-fails", holds: "the model server answers 503: jobs try again" },
    ...{ how: { kind: "status", status: 503 }, longMs: 10_000 },
  },
  {
    ...{ name: "model-hangs", holds: "the model server does not answer: requests are given up, and jobs try again" },
    ...{ how: { kind: "hang" }, longMs: 70_000 },
  },
];

for (const { name, holds, how, longMs } of OUTAGES) {
  chaosRow({
    ...{ name, holds, rounds: 1, compare },
    round: async () => {
      await system.replaceWorkers({});
      const load = await system.load(4);
      await system.writesGoOn(10);
      system.model.alwaysMisbehave(how);
      const seen = system.model.calls.length;
      await until(() => system.model.calls.length > seen || undefined, PATIENCE_MS);
      await pause(LONG ? longMs : REQUEST_MS + 500);
      system.model.reset();
      const recoveredMs = await system.worksAgain();
      await load.stop();
      await system.settle();
      return recoveredMs;
    },
  });
}

interface BadOutput {
  readonly name: string;
  readonly holds: string;
  readonly how: Misbehaviour;
  readonly state: "dead" | "failed";
  readonly code: string;
}

const BAD_OUTPUTS: readonly BadOutput[] = [
  {
    ...{ name: "model-wrong-length", holds: "vectors of a wrong length are refused by name; a replay happens once" },
    ...{ how: { kind: "wrong dimension" }, state: "failed", code: "model_dimension" },
  },
  {
    ...{ name: "model-nan", holds: "a vector with NaN is refused by name, again and again; a replay happens once" },
    ...{ how: { kind: "broken vector", index: 0, value: "null" }, state: "dead", code: "model_bad_output" },
  },
];

for (const { name, holds, how, state, code } of BAD_OUTPUTS) {
  chaosRow({
    ...{ name, holds, rounds: 1, compare },
    round: async () => {
      await system.replaceWorkers({});
      const memory = await system.memory();
      system.model.misbehaveWhen((texts) => (texts.some((text) => text.includes(memory)) ? how : undefined));
      const job = await system.write(memory, 1);
      expect(await system.ended(job)).toBe(state);
      const { body } = await system.client.call("GET", `/v1/jobs/${job}`);
      expect(body["error"]).toMatchObject({ code, detail: expect.stringContaining("fake-model") });
      expect(await system.stores.tree.scan({ tenant: "default", memory }, { limit: 1 })).toEqual([]);
      system.model.reset();
      const begun = Date.now();
      await system.replay(memory, job);
      const recoveredMs = Date.now() - begun;
      await system.settle();
      return recoveredMs;
    },
  });
}
