import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./compose-file.js";

let folder = "";

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "espalier-secrets-")), "secrets");
});
afterEach(() => {
  rmSync(join(folder, ".."), { recursive: true });
});

const make = (): { readonly code: number | null; readonly said: string } => {
  const { status, stdout } = spawnSync(join(ROOT, "bin/secrets"), [folder], { encoding: "utf8" });
  return { code: status, said: stdout };
};
const secret = (name: string): string => readFileSync(join(folder, name), "utf8").trim();
const modeOf = (path: string): number => statSync(path).mode & 0o777;

test("secrets are long, random and different", () => {
  expect(make().code).toBe(0);
  const made = ["redis-password", "neo4j-password", "qdrant-api-key", "secrets-key", "grafana-password"].map(secret);
  for (const each of made) expect(each).toMatch(/^[0-9a-f]{64}$/);
  expect(new Set(made).size).toBe(made.length);
  expect(secret("neo4j-auth")).toBe(`neo4j/${secret("neo4j-password")}`);
});

test("only the owner of the folder gets at them, and nobody changes them by accident", () => {
  make();
  expect(modeOf(folder)).toBe(0o700);
  for (const name of readdirSync(folder)) expect(modeOf(join(folder, name))).toBe(0o444);
});

test("nothing that is there is ever made anew, and nothing half-made is left", () => {
  make();
  const before = readdirSync(folder).map((name) => [name, secret(name)]);
  rmSync(join(folder, "qdrant-api-key"));
  const { code, said } = make();
  expect(code).toBe(0);
  expect(said.split("\n").filter((line) => line.startsWith("made "))).toEqual([`made ${folder}/qdrant-api-key`]);
  const after = readdirSync(folder).map((name) => [name, secret(name)]);
  expect(after.filter(([name]) => name !== "qdrant-api-key")).toEqual(
    before.filter(([name]) => name !== "qdrant-api-key"),
  );
});

test("a password of one's own is kept, and Neo4j's first password follows it", () => {
  spawnSync("mkdir", ["-p", folder]);
  writeFileSync(join(folder, "neo4j-password"), "a password of ours\n");
  expect(make().code).toBe(0);
  expect(secret("neo4j-auth")).toBe("neo4j/a password of ours");
});
