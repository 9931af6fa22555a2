/**
 * Runs every example of docs/query-language.md. A block ```xpath MEMORY [CODE] holds one query on an example memory; with
 * CODE it must be refused with that error. A block ```rows after it holds the paths of all rows, in order; without one
 * the query is scored and must give rows.
 */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { MemoryScope } from "#core";
import type { Engine } from "../../bench/engine/engine.js";
import { EXAMPLES, readExample } from "../../bench/engine/examples.js";
import { hashedModel } from "../../bench/engine/hashed-model.js";
import { openEngine } from "../../bench/engine/open-engine.js";

interface DocExample {
  readonly memory: string;
  readonly query: string;
  readonly error: string | undefined;
  readonly rows: readonly string[] | undefined;
}

const BLOCK = /^```xpath (\S+)(?: (\S+))?\n(.*?)\n```(?:\n\n```rows\n(.*?)\n?```)?$/gms;

const page = await readFile("docs/query-language.md", "utf8");
const examples = [...page.matchAll(BLOCK)].map(([, memory = "", error, query = "", rows]): DocExample => ({
  memory,
  query,
  error,
  rows: rows?.split("\n").filter((row) => row !== ""),
}));

let engine: Engine;
const scopes = new Map<string, MemoryScope>();

beforeAll(async () => {
  engine = await openEngine({ model: hashedModel(64) });
  for (const name of EXAMPLES) {
    const scope = await engine.createMemory(name, "artifact");
    await engine.insert(scope, await readExample(name));
    scopes.set(name, scope);
  }
});

afterAll(() => engine.close());

const ask = ({ memory, query }: DocExample) => {
  const scope = scopes.get(memory);
  if (scope === undefined) throw new Error(`the page names an unknown memory: ${memory}`);
  return engine.query(scope, { query, topK: 100 });
};

test("the page has its examples", () => {
  expect(examples.length).toBe([...page.matchAll(/^```xpath/gm)].length);
  expect(examples.filter(({ rows }) => rows !== undefined).length).toBe([...page.matchAll(/^```rows/gm)].length);
  expect(examples.length).toBeGreaterThan(30);
});

describe("examples of the query language", () => {
  const plain = examples.filter(({ error, rows }) => error === undefined && rows !== undefined);
  test.each(plain)("$query gives the rows that the page shows", async (example) => {
    const { rows } = await ask(example);
    expect(rows.map(({ path }) => path)).toEqual(example.rows);
  });

  const scored = examples.filter(({ error, rows }) => error === undefined && rows === undefined);
  test.each(scored)("$query gives rows, best first", async (example) => {
    const scores = (await ask(example)).rows.map(({ score }) => score);
    expect(scores.length).toBeGreaterThan(0);
    expect(scores).toEqual(scores.toSorted((one, other) => other - one));
  });

  const refused = examples.filter(({ error }) => error !== undefined);
  test.each(refused)("$query is refused with $error", async (example) => {
    await expect(ask(example)).rejects.toMatchObject({ code: example.error });
  });
});
