import { expect, test } from "@jest/globals";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { pino } from "pino";
import { until } from "../../../../test/support/until.js";
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
