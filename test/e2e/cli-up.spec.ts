import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandOf } from "../../apps/cli/src/embedded/processes.js";
import { runEspalier, startEspalier, type RunningEspalier } from "../support/espalier.js";
import { until } from "../support/until.js";

/** `espalier up` as a person meets it: real processes, a private Redis, the real embedding model. */
const SLOW_MS = 120_000;
const STOP_MS = 10_000;

let folder = "";
const started: RunningEspalier[] = [];

const up = async (environment: NodeJS.ProcessEnv = {}): Promise<RunningEspalier> => {
  const running = await startEspalier(folder, environment);
  started.push(running);
  return running;
};

/** A process that nobody has waited for yet still has its pid, but no command line. */
const isAlive = (pid: number): boolean => commandOf(pid) !== "";

const childPids = (): readonly number[] => [
  Number.parseInt(readFileSync(join(folder, "redis", "redis.pid"), "utf8"), 10),
  ...(JSON.parse(readFileSync(join(folder, "workers.json"), "utf8")) as readonly number[]),
];

const insertAndCount = async (running: RunningEspalier, name: string): Promise<number> => {
  const made = (await (await running.request("POST", "/v1/memories", { name })).json()) as { id: string };
  const tree = { type: "List", children: [{ type: "Item", attributes: { name: "apples" } }] };
  const inserted = await running.request("POST", `/v1/memories/${made.id}/insert`, { tree }, { prefer: "wait=60" });
  expect(inserted.status).toBe(200);
  const answer = await running.request("POST", `/v1/memories/${made.id}/query`, { query: '//Item[node~="fruit"]' });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { rows: unknown[] }).rows.length;
};

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "espalier-up-")), "data");
});

afterEach(async () => {
  for (const running of started.splice(0)) if (isAlive(running.pid)) await running.end("SIGTERM");
  rmSync(join(folder, ".."), { recursive: true, force: true });
});

test(
  "the first start prints the key once and the ready line last; the second start has the same key and prints only the line",
  async () => {
    const first = await up();
    const lines = first.stdout().trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain(first.key);
    expect(lines[1]).toBe(`espalier ready url=${first.url}`);
    expect(statSync(join(folder, "admin.key")).mode & 0o777).toBe(0o600);
    expect(await insertAndCount(first, "one")).toBe(1);
    expect((await first.end("SIGTERM")).code).toBe(0);
    const second = await up();
    expect(second.key).toBe(first.key);
    expect(second.stdout()).toBe(`espalier ready url=${second.url}\n`);
    const list = (await (await second.request("GET", "/v1/memories")).json()) as { items: { name: string }[] };
    expect(list.items.map((memory) => memory.name)).toEqual(["one"]);
  },
  SLOW_MS,
);

test(
  "a second up on the same folder is refused with a sentence that names the first",
  async () => {
    const running = await up();
    const second = await runEspalier(["up", "--port", "0", "--data", folder]);
    expect(second.code).toBe(1);
    expect(second.stdout).toBe("");
    expect(second.stderr).toMatch(/in use by another espalier up \(pid \d+\): stop that one first/);
    expect((await running.request("GET", "/health/live")).status).toBe(200);
  },
  SLOW_MS,
);

test(
  "after kill -9 of up, its folder starts again at once with everything that was stored, and no old process is left",
  async () => {
    const first = await up();
    expect(await insertAndCount(first, "kept")).toBe(1);
    const orphans = childPids();
    await first.end("SIGKILL");
    const second = await up();
    const list = (await (await second.request("GET", "/v1/memories")).json()) as { items: { name: string }[] };
    expect(list.items.map((memory) => memory.name)).toEqual(["kept"]);
    expect(orphans.filter(isAlive)).toEqual([]);
    expect(await insertAndCount(second, "next")).toBe(1);
  },
  SLOW_MS,
);

test(
  "SIGTERM ends up and all its processes within ten seconds",
  async () => {
    const running = await up();
    const children = childPids();
    expect(children).toHaveLength(3);
    const since = performance.now();
    expect((await running.end("SIGTERM")).code).toBe(0);
    expect(performance.now() - since).toBeLessThan(STOP_MS);
    expect(children.filter(isAlive)).toEqual([]);
    expect(existsSync(join(folder, "up.json"))).toBe(false);
  },
  SLOW_MS,
);

test(
  "a worker and the Redis that are killed come back by themselves, and the API answers again",
  async () => {
    const running = await up();
    const before = childPids();
    for (const pid of before) process.kill(pid, "SIGKILL");
    await until(() => childPids().every((pid) => !before.includes(pid) && isAlive(pid)) || undefined);
    await until(async () => (await running.request("GET", "/health/ready")).status === 200 || undefined);
    expect(await insertAndCount(running, "after")).toBe(1);
  },
  SLOW_MS,
);

test("api and worker without REDIS_URL say so at boot, with every other problem of the configuration", async () => {
  for (const command of ["api", "worker"]) {
    const end = await runEspalier([command], { ESPALIER_PORT: "99999", ESPALIER_DATA: folder });
    expect(end.code).toBe(1);
    expect(end.stdout).toBe("");
    expect(end.stderr).toMatch(/ESPALIER_PORT/);
    expect(end.stderr).toMatch(/REDIS_URL/);
  }
});

test("up says all that is wrong with its configuration before anything starts", async () => {
  const environment = { LOG_LEVEL: "loud", ESPALIER_BODY_LIMIT: "32 MiB" };
  const end = await runEspalier(["up", "--port", "0", "--data", folder], environment);
  expect({ code: end.code, stdout: end.stdout }).toEqual({ code: 1, stdout: "" });
  expect(end.stderr).toMatch(/2 problem\(s\):\n {2}ESPALIER_BODY_LIMIT must be .*\n {2}LOG_LEVEL must be one of/);
  expect(end.stderr).not.toMatch(/\n +at /);
  const missing = { ENTAILMENT_PROVIDER: "local", ENTAILMENT_MODEL: "/nope" };
  const lacking = await runEspalier(["up", "--port", "0", "--data", folder], missing);
  expect(lacking.code).toBe(1);
  expect(lacking.stderr).toMatch(/ENTAILMENT_MODEL cannot be used\. The model folder \/nope lacks a model/);
  const doctor = await runEspalier(["doctor", "--data", folder], missing);
  expect(doctor.stdout).toMatch(/FAIL entailment model: The model folder \/nope lacks a model/);
  expect(existsSync(folder)).toBe(false);
});

test(
  "a port that is taken is named, and the key is made and shown by the first start that gets ready",
  async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const end = await runEspalier(["up", "--port", String(port), "--data", folder]);
    taken.close();
    expect({ code: end.code, stdout: end.stdout }).toEqual({ code: 1, stdout: "" });
    expect(end.stderr).toMatch(new RegExp(`^Port ${port} is taken by another process: .* with --port N.*\n$`, "m"));
    expect(end.stderr).not.toMatch(/\n +at /);
    expect(existsSync(join(folder, "admin.key"))).toBe(false);
    const running = await up({ LOG_LEVEL: "info" });
    expect(running.stdout()).toContain(running.key);
    expect((await running.end("SIGINT")).stderr).toContain('"msg":"stopped"');
  },
  SLOW_MS,
);

test("a command that is called wrongly ends with 2 and says how it is called", async () => {
  for (const args of [["up", "--port", "x"], ["nonsense"], ["query", "memory"]]) {
    const end = await runEspalier(args);
    expect({ args, code: end.code, said: end.stderr.length > 0 }).toEqual({ args, code: 2, said: true });
  }
});
