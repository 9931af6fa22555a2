import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { fork, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { until } from "../../../../test/support/until.js";
import { WORKER_HEARTBEAT } from "../../../worker/src/heartbeat.js";
import { isAlive } from "./processes.js";
import { supervise, type ChildPlan } from "./supervise.js";

const silent = pino({ level: "silent" });

/** A child that says `up` and then runs `script`. */
const node = (script: string): ChildProcess =>
  spawn(process.execPath, ["-e", `process.stdout.write("up"); ${script}`], { stdio: ["ignore", "pipe", "ignore"] });

const plan = (spawnChild: () => ChildProcess, events: string[] = []): ChildPlan => ({
  name: "child",
  spawn: spawnChild,
  ready: async (child) => {
    if (child.stdout !== null) await once(child.stdout, "data");
    events.push("ready");
  },
  beforeRestart: async () => {
    events.push("before restart");
  },
  killSignal: "SIGKILL",
});

test("a child that is killed comes back, after its leavings were cleared", async () => {
  const events: string[] = [];
  const supervised = supervise(
    plan(() => node("setInterval(() => 0, 1000)"), events),
    silent,
  );
  await supervised.firstReady;
  const first = supervised.current()?.pid;
  supervised.current()?.kill("SIGKILL");
  await until(() => events.length === 3 || undefined);
  expect(events).toEqual(["ready", "before restart", "ready"]);
  expect(supervised.current()?.pid).not.toBe(first);
  await supervised.stop(1_000);
  expect(supervised.current()).toBeUndefined();
});

test("a child that never gets ready fails the first start", async () => {
  const supervised = supervise(
    { ...plan(() => spawn(process.execPath, ["-e", "process.exit(3)"])), ready: () => new Promise(() => undefined) },
    silent,
  );
  await expect(supervised.firstReady).rejects.toThrow(/ended before it was ready/);
});

test("a child that ignores SIGTERM is killed when its grace is over", async () => {
  const supervised = supervise(
    plan(() => node("process.on('SIGTERM', () => 0); setInterval(() => 0, 1000)")),
    silent,
  );
  await supervised.firstReady;
  const pid = supervised.current()?.pid ?? 0;
  await supervised.stop(100);
  expect(isAlive(pid)).toBe(false);
});

describe("a child with a heartbeat", () => {
  const heartbeat = { everyMs: 50, silenceMs: 500 };
  /** Beats until it is told to block its event loop, for good or for some milliseconds. */
  const PROGRAM = `process.stdout.write("up");
setInterval(() => process.send({ type: "alive" }), ${heartbeat.everyMs});
process.on("message", ({ blockMs = Infinity }) => { const end = Date.now() + blockMs; while (Date.now() < end); process.send("back"); });`;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "espalier-beat-"));
    await writeFile(join(folder, "child.cjs"), PROGRAM);
  });
  afterAll(() => rm(folder, { recursive: true }));
  const beating = (): ChildProcess =>
    fork(join(folder, "child.cjs"), { stdio: ["ignore", "pipe", "ignore", "ipc"], execArgv: [] });

  test("is killed and started again when its event loop hangs", async () => {
    const events: string[] = [];
    const supervised = supervise({ ...plan(beating, events), heartbeat }, silent);
    await supervised.firstReady;
    const first = supervised.current();
    first?.send({});
    await until(() => events.length === 3 || undefined);
    expect(events).toEqual(["ready", "before restart", "ready"]);
    expect(first?.signalCode).toBe("SIGKILL");
    expect(supervised.current()?.pid).not.toBe(first?.pid);
    await supervised.stop(1_000);
  });

  test("lives on when its event loop is blocked for less than the limit", async () => {
    const supervised = supervise({ ...plan(beating), heartbeat: { ...heartbeat, silenceMs: 10_000 } }, silent);
    await supervised.firstReady;
    const child = supervised.current();
    const back = new Promise((resolve) => {
      child?.on("message", (message) => {
        if (message === "back") resolve(message);
      });
    });
    child?.send({ blockMs: 4 * heartbeat.everyMs });
    await back;
    expect(supervised.current()?.pid).toBe(child?.pid);
    await supervised.stop(1_000);
  });

  test("of the product has more than half a minute", () => {
    expect(WORKER_HEARTBEAT.silenceMs).toBeGreaterThanOrEqual(30_000);
    expect(WORKER_HEARTBEAT.everyMs * 5).toBeLessThan(WORKER_HEARTBEAT.silenceMs);
  });
});
