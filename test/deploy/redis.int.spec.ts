import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { until } from "../support/until.js";
import { composeFile, ROOT, textOf } from "./compose-file.js";

/** Redis as the compose file starts it, with the container's folders below one of the test's own. */
let folder = "";
let server: ChildProcess;
const socket = (): string => join(folder, "redis.sock");

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "espalier-redis-"));
  for (const name of ["data", "tmp", "etc"]) mkdirSync(join(folder, name));
  const conf = textOf("deploy/redis/redis.conf").replace("dir /data", `dir ${folder}/data`);
  writeFileSync(join(folder, "etc/redis.conf"), `${conf}port 0\nunixsocket ${socket()}\n`);
  writeFileSync(join(folder, "password"), "a-secret\n");
  const [program = "", ...args] = composeFile.services["redis"]?.command ?? [];
  const here = (text: string): string =>
    text
      .replaceAll("$$", "$")
      .replaceAll("/etc/redis/redis.conf", `${folder}/etc/redis.conf`)
      .replaceAll("/run/secrets/redis-password", `${folder}/password`)
      .replaceAll("/tmp/redis.conf", `${folder}/tmp/redis.conf`);
  server = spawn(program, args.map(here), { cwd: ROOT, stdio: "ignore" });
  const client = connect("a-secret");
  await until(async () => (await client.ping().catch(() => "")) === "PONG" || undefined);
  client.disconnect();
});
afterAll(async () => {
  const exited = once(server, "exit");
  server.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
  rmSync(folder, { recursive: true });
});

function connect(password?: string): Redis {
  const client = new Redis({ path: socket(), ...(password !== undefined && { password }), maxRetriesPerRequest: 1 });
  client.on("error", () => undefined);
  return client;
}

test("Redis answers nobody without the password", async () => {
  const client = connect();
  try {
    await expect(client.get("key")).rejects.toThrow(/NOAUTH/);
  } finally {
    client.disconnect();
  }
});

test("Redis keeps an append-only file, flushed every second, and evicts nothing", async () => {
  const client = connect("a-secret");
  try {
    const read = async (name: string): Promise<unknown> => ((await client.config("GET", name)) as unknown[])[1];
    expect(await read("appendonly")).toBe("yes");
    expect(await read("appendfsync")).toBe("everysec");
    expect(await read("maxmemory-policy")).toBe("noeviction");
    expect(Number(await read("maxmemory"))).toBe(768 * 1024 * 1024);
  } finally {
    client.disconnect();
  }
});
