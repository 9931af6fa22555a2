import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/**
 * The import rules must be able to fail: a copy of the rules judges a tiny tree of our layout, in which each test plants
 * one violation.
 */
const root = resolve(import.meta.dirname, "../..");
const LIBS = ["core", "query", "scoring", "memory", "stores", "models", "jobs", "telemetry"];
let tree = "";

const write = (file: string, text: string): void => {
  const path = join(tree, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

/** The rules that the tree breaks once `file` holds `text`. */
const violationsWith = (file: string, text: string): readonly string[] => {
  write(file, text);
  const run = spawnSync(
    process.execPath,
    [
      join(root, "node_modules/dependency-cruiser/bin/dependency-cruiser.mjs"),
      "apps",
      "libs",
      "--config",
      ".dependency-cruiser.cjs",
      "--output-type",
      "json",
    ],
    { cwd: tree, encoding: "utf8" },
  );
  rmSync(join(tree, file));
  const report = JSON.parse(run.stdout) as { summary: { violations: { rule: { name: string } }[] } };
  return report.summary.violations.map((violation) => violation.rule.name);
};

beforeAll(() => {
  tree = mkdtempSync(join(tmpdir(), "espalier-imports-"));
  for (const file of [".dependency-cruiser.cjs", "tsconfig.json", "package.json"])
    cpSync(join(root, file), join(tree, file));
  symlinkSync(join(root, "node_modules"), join(tree, "node_modules"));
  for (const lib of LIBS) write(`libs/${lib}/src/index.ts`, "export const name = 1;\n");
  write("libs/core/src/inner.ts", "export const inner = 1;\n");
  write("apps/api/src/main.ts", 'import { name } from "#stores";\nexport const wired = name;\n');
});

afterAll(() => {
  rmSync(tree, { recursive: true, force: true });
});

test("a tree that keeps the rules has no violation", () => {
  expect(
    violationsWith("libs/query/src/fine.ts", 'import { name } from "#core";\nexport const fine = name;\n'),
  ).toEqual([]);
});

test("query importing stores is caught", () => {
  const text = 'import { name } from "#stores";\nexport const planted = name;\n';
  expect(violationsWith("libs/query/src/planted.ts", text)).toContain("query-imports");
});

test("core importing any lib is caught", () => {
  const text = 'import { name } from "#query";\nexport const planted = name;\n';
  expect(violationsWith("libs/core/src/planted.ts", text)).toContain("core-imports");
});

test("a driver in a pure lib is caught", () => {
  const text = 'import { DatabaseSync } from "node:sqlite";\nexport const planted = DatabaseSync;\n';
  expect(violationsWith("libs/memory/src/planted.ts", text)).toContain("pure-libs");
});

test("reaching into another lib past its index is caught", () => {
  const text = 'import { inner } from "../../core/src/inner.js";\nexport const planted = inner;\n';
  expect(violationsWith("libs/query/src/planted.ts", text)).toContain("libs-through-their-index");
});

test("a lib importing an app is caught", () => {
  const text = 'import { wired } from "../../../apps/api/src/main.js";\nexport const planted = wired;\n';
  expect(violationsWith("libs/stores/src/planted.ts", text)).toContain("libs-without-apps");
});
