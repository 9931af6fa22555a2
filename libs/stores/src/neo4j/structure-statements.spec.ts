import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { comparison, index, step } from "../contract/fixtures.js";
import { evidenceStatement } from "./evidence-statement.js";
import { runStatement, type Statement } from "./run-statement.js";
import { golden } from "./testing/golden.js";
import { structureShapes } from "./testing/structure-shapes.js";

const HEAD = { head: true, revision: 1 };

test("statements of every shape are those of the golden file (UPDATE_GOLDEN=1 writes it)", async () => {
  const now = structureShapes()
    .map(([name, { text }]) => `// ${name}\n${text};\n`)
    .join("\n");
  expect(now).toBe(await golden(join(import.meta.dirname, "structure.golden.cypher"), now));
});

const runOf = (contexts: number, type: string, attribute: string, at: number): Statement =>
  runStatement(
    {
      contexts: Array.from({ length: contexts }, (_, number) => ({
        ...{ id: `nod_${number}`, pathKey: `a${number}`, weight: 1 },
      })),
      steps: [step("child", type, index(at), [comparison(attribute, "=", `${type} ${at}`)])],
      values: false,
    },
    "default/mem_1",
    HEAD,
  );

test("a statement depends on the shape of a run, not on its values or on how many contexts there are", () => {
  expect(runOf(2, "A", "name", 3).text).toBe(runOf(50, "B", "size", 7).text);
});

const evidenceOf = (name: string): Statement =>
  evidenceStatement(
    {
      contexts: [{ id: name, pathKey: "a0" }],
      paths: [{ steps: [step("child", name, undefined, [comparison(name, "<", name)])], keep: [true] }],
      values: true,
    },
    name,
    HEAD,
  );

test("names and values are parameters, whatever they are", () => {
  const names = [
    "O'Hara",
    '"',
    "`",
    "$memory",
    "${x}",
    "n) DETACH DELETE (n",
    "naïve_名",
    "\\u0027",
    "x".repeat(100_000),
  ];
  const plain = runOf(1, "A", "name", 3);
  for (const name of names) {
    const statement = runOf(1, name, name, 3);
    expect(statement.text).toBe(plain.text);
    expect(Object.values(statement.parameters)).toEqual(
      expect.arrayContaining([name, `value:${name}`, `text:${name}`, `members:${name}`]),
    );
    const evidence = evidenceOf(name);
    expect(evidence.text).toBe(evidenceOf("A").text);
    expect(Object.values(evidence.parameters)).toEqual(expect.arrayContaining([name, `value:${name}`]));
  }
});
