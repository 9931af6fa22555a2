import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { LocalEmbeddingModel } from "./local-embedding-model.js";

const FOLDER = join(process.env["ESPALIER_MODELS"] ?? ".models", "all-MiniLM-L6-v2");

/** More than a second of work. */
const LONG = Array.from({ length: 32 }, (_, at) => `${at} the keynote of the conference `.repeat(40));

test("the event loop turns while the model works", async () => {
  const model = await LocalEmbeddingModel.open(FOLDER);
  let turns = 0;
  const turning = new AbortController();
  const embedding = model.embed(LONG).finally(() => {
    turning.abort();
  });
  while (!turning.signal.aborted) {
    await turn();
    turns += 1;
  }
  await embedding;
  expect(turns).toBeGreaterThan(100);
  await model.close();
});

test("a model that is closed ends its call first, and takes no other", async () => {
  const model = await LocalEmbeddingModel.open(FOLDER);
  const embedding = model.embed(["a conference"]);
  await model.close();
  expect(await embedding).toHaveLength(1);
  await expect(model.embed(["a hotel"])).rejects.toMatchObject({ code: "model_unavailable" });
});

const TASKS = "/proc/self/task";
const onLinux = existsSync(TASKS) ? test : test.skip;

onLinux("a model that does not fit leaves no thread behind", async () => {
  const threads = async (): Promise<number> => (await readdir(TASKS)).length;
  const before = await threads();
  for (let at = 0; at < 3; at += 1) {
    await expect(LocalEmbeddingModel.open("test/fixtures/tiny-nli")).rejects.toMatchObject({
      code: "model_bad_output",
    });
  }
  expect(await threads()).toBeLessThanOrEqual(before);
});

test.each([
  ["works", "void (await opening).embed(LONG); setTimeout(end, 200);"],
  ["was just asked", "void (await opening).embed(LONG); end();"],
  [
    "is being closed",
    "const model = await opening; void model.embed(LONG); setTimeout(() => void model.close(), 200).unref(); setTimeout(end, 300);",
  ],
  ["begins to load", "setTimeout(end, 20);"],
  ["loads", "setTimeout(end, 150);"],
  ["has nearly loaded", "setTimeout(end, 350);"],
  ["rests", "await opening; end();"],
])("a process that ends while a model %s ends as it says", async (_, course) => {
  const folder = await mkdtemp(join(tmpdir(), "espalier-session-"));
  const script = join(folder, "end.mjs");
  await writeFile(
    script,
    `import { LocalEmbeddingModel } from ${JSON.stringify(join(import.meta.dirname, "local-embedding-model.ts"))};
    const LONG = ${JSON.stringify(LONG)};
    const end = () => process.exit(7);
    // What else listens gives the thread time to begin what it was just asked for.
    process.on("exit", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20));
    const opening = LocalEmbeddingModel.open(${JSON.stringify(FOLDER)});
    ${course}`,
  );
  const sources = join(import.meta.dirname, "../../../stores/src/testing/resolve-sources.mjs");
  const options = ["--no-warnings", "--experimental-transform-types", "--conditions=espalier-source"];
  const ended = await new Promise<unknown>((resolve) => {
    execFile(process.execPath, [...options, `--import=${sources}`, script], (error, _stdout, stderr) => {
      resolve({ code: error?.code, signal: error?.signal, stderr });
    });
  });
  await rm(folder, { recursive: true });
  expect(ended).toEqual({ code: 7, signal: null, stderr: "" });
});
