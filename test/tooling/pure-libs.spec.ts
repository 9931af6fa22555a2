import { expect, test } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";

/** The lint rules of the pure libs must be able to fail: each test judges a planted text in the place of a real file. */
const root = resolve(import.meta.dirname, "../..");

const messagesFor = (file: string, text: string): readonly string[] => {
  const run = spawnSync(
    process.execPath,
    [join(root, "node_modules/eslint/bin/eslint.js"), "--stdin", "--stdin-filename", file, "--format", "json"],
    { cwd: root, encoding: "utf8", input: text },
  );
  const [report] = JSON.parse(run.stdout) as { messages: { message: string }[] }[];
  return (report?.messages ?? []).map(({ message }) => message);
};

test("the environment, the clock and randomness are caught in a pure lib", () => {
  const text = [
    "export const planted = [process.env, Date.now(), Math.random()];",
    "export const more = [new Date(), crypto.randomUUID(), globalThis.process];",
  ].join("\n");
  const messages = messagesFor("libs/query/src/ast.ts", text).join("\n");
  expect(messages.match(/The environment is a parameter here/g)).toHaveLength(2);
  expect(messages.match(/Time is a parameter here/g)).toHaveLength(2);
  expect(messages).toMatch(/Randomness is a parameter here/);
  expect(messages).toMatch(/Ids are a parameter here/);
});

test("an app may read its environment", () => {
  expect(messagesFor("apps/cli/src/locations.ts", "export const planted = process.env;\n")).toEqual([]);
});
