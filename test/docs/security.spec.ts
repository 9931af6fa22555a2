import { expect, test } from "@jest/globals";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
const page = readFileSync(join(ROOT, "docs/security.md"), "utf8");

/** Folders that paths of the page may leave out: it says where it speaks of the API. */
const BASES = ["", "apps/api/src/", "libs/jobs/src/"];

test("what the security page names is there", () => {
  const paths = [...page.matchAll(/`(\w[\w./-]*\.(?:ts|yml|json|md))`/g)].map((match) => match[1] ?? "");
  expect(paths.length).toBeGreaterThan(60);
  const missing = paths.filter((path) => !BASES.some((base) => existsSync(join(ROOT, base, path))));
  expect(missing).toEqual([]);
  const links = [...page.matchAll(/\]\(([\w./-]+\.md)\)/g)].map((match) => match[1] ?? "");
  expect(links.filter((link) => !existsSync(join(ROOT, dirname("docs/security.md"), link)))).toEqual([]);
});

test("every risk of the list has its threat, its answer, its tests and what is left", () => {
  const rows = page.split(/^### /m).slice(1);
  expect(rows.map((row) => /^API\d+/.exec(row)?.[0])).toEqual(Array.from({ length: 10 }, (_, at) => `API${at + 1}`));
  for (const row of rows)
    for (const part of ["Here", "What is done", "Tests", "Left"]) expect(row).toContain(`**${part}:**`);
});
