/** Rows of the failure table about processes that differ: in their release, and in their clocks. */
import { expect } from "@jest/globals";
import { until } from "../support/until.js";
import { UPGRADED } from "./faults.js";
import { chaosRow } from "./row.js";
import { systemForRows } from "./system-for-rows.js";
import type { System } from "./system.js";

const PATIENCE_MS = 120_000;
const HOUR_MS = 3_600_000;

let system: System;

systemForRows((started) => {
  system = started;
});

const compare = () => system.ledger.compare(system.stores);

async function isMarked(memory: string): Promise<boolean> {
  const [node] = await system.stores.tree.scan({ tenant: "default", memory }, { limit: 1 });
  return node?.attributes[UPGRADED] === true;
}

chaosRow({
  name: "rolling-deploy",
  holds: "two releases with different payloads share the queues: jobs of both run, each in a worker that can read them",
  rounds: 1,
  compare,
  round: async () => {
    const [older] = await system.replaceWorkers({});
    const load = await system.load(3);
    await system.writesGoOn(10);
    await system.killApi();
    await system.replaceApi({ nextRelease: true });
    const [ofNew, ofOld] = [await system.memory(), await system.memory()];
    const newer = await system.write(ofNew, 1);
    // The worker of this release takes newer jobs again and again, and leaves them as they are.
    await system.writesGoOn(10);
    expect(await system.state(newer)).toBe("queued");
    const begun = Date.now();
    await system.startWorker({ nextRelease: true });
    expect(await system.ended(newer)).toBe("completed");
    const recoveredMs = Date.now() - begun;
    // And back: the worker that stays reads what the release before submits.
    await older?.stop();
    await system.killApi();
    await system.replaceApi();
    expect(await system.ended(await system.write(ofOld, 1))).toBe("completed");
    await load.stop();
    await system.settle();
    expect([await isMarked(ofNew), await isMarked(ofOld)]).toEqual([false, true]);
    return recoveredMs;
  },
});

chaosRow({
  name: "clock-skew",
  holds: "workers whose clocks are an hour ahead and behind: everything runs, also what waits by a clock that is gone",
  rounds: 1,
  compare,
  round: async () => {
    const [ahead] = await system.replaceWorkers({ clockMs: HOUR_MS, queues: { retryBaseMs: 4_000 } });
    const memory = await system.memory();
    system.model.misbehaveWhen((texts) => (texts.join().includes(memory) ? { kind: "not json" } : undefined));
    const job = await system.write(memory, 1);
    await until(async () => (await system.waitsAgain(job)) || undefined, PATIENCE_MS);
    // Its next attempt is due in an hour, as the others see it.
    await ahead?.kill();
    const begun = Date.now();
    system.model.reset();
    await system.startWorker({ clockMs: -HOUR_MS });
    await system.startWorker({ clockMs: HOUR_MS });
    const load = await system.load(4);
    await system.writesGoOn(20);
    // Attempts that fail now are made again by either clock.
    system.model.misbehave(...Array.from({ length: 3 }, () => ({ kind: "not json" }) as const));
    expect(await system.ended(job)).toBe("completed");
    const recoveredMs = Date.now() - begun;
    await system.writesGoOn(20);
    await load.stop();
    await system.settle();
    return recoveredMs;
  },
});
