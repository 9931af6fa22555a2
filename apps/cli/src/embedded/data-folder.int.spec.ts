import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { chmodSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { dataFolder, isLocked, lockFolder, makeFolders, readRunning } from "./data-folder.js";

let root = "";

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "espalier-folder-"));
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

test("a folder has one owner, who is named to the next one and forgotten when it leaves", () => {
  const folder = dataFolder(join(root, "data"));
  makeFolders(folder);
  const lock = lockFolder(folder);
  expect(() => lockFolder(folder)).toThrow(new RegExp(`in use by another espalier up \\(pid ${process.pid}\\)`));
  lock.publish("http://127.0.0.1:1");
  expect(readRunning(folder)).toEqual({ pid: process.pid, url: "http://127.0.0.1:1" });
  expect(isLocked(folder)).toBe(true);
  lock.release();
  expect(isLocked(folder)).toBe(false);
  expect(readRunning(folder)).toBeUndefined();
  lockFolder(folder).release();
});

test("other users can enter neither the data nor the socket's folder", () => {
  const folder = dataFolder(join(root, "data"));
  makeFolders(folder);
  for (const path of [folder.path, folder.redisFolder, dirname(folder.redisSocket)]) {
    expect(statSync(path).mode & 0o777).toBe(0o700);
  }
});

test("nobody else can read the lock's file, nor one that an older version left open", () => {
  const folder = dataFolder(join(root, "data"));
  makeFolders(folder);
  const file = join(folder.path, "up.lock");
  lockFolder(folder).release();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  chmodSync(file, 0o644);
  lockFolder(folder).release();
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("a socket path that the system would cut moves to the temporary folder, the same one every time", () => {
  const long = join(root, "x".repeat(100), "data");
  const folder = dataFolder(long);
  expect(Buffer.byteLength(folder.redisSocket)).toBeLessThan(104);
  expect(folder.redisSocket).not.toContain("xxx");
  expect(dataFolder(long).redisSocket).toBe(folder.redisSocket);
  expect(dataFolder(`${long}2`).redisSocket).not.toBe(folder.redisSocket);
});

test("a path that would need quoting in a URL is kept out of the socket's address", () => {
  expect(dataFolder(join(root, "my data")).redisSocket).toMatch(/^[\w./-]+$/);
});
