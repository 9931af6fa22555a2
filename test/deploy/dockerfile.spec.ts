import { expect, test } from "@jest/globals";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeWithTool, hadolint } from "../support/deploy-tools.js";
import { ROOT, textOf } from "./compose-file.js";

const FILES = ["Dockerfile", "deploy/tei/Dockerfile"];

await describeWithTool("hadolint on our Dockerfiles", hadolint, (run) => {
  test.each(FILES)("%s has nothing to complain about", (file) => {
    expect(run(["--no-color", join(ROOT, file)])).toEqual({ code: 0, said: "" });
  });

  test("an image without a version is found", () => {
    const scratch = mkdtempSync(join(tmpdir(), "espalier-dockerfile-"));
    try {
      const file = join(scratch, "Dockerfile");
      writeFileSync(file, textOf("Dockerfile").replaceAll(/node:\$\{NODE_VERSION\}\S*/g, "node"));
      expect(run(["--no-color", file]).said).toMatch(/DL3006/);
    } finally {
      rmSync(scratch, { recursive: true });
    }
  });
});

/** Instructions of the last stage, comments and line breaks aside. */
const lastStage = (file: string): string =>
  textOf(file)
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split(/^FROM /m)
    .at(-1) ?? "";

test.each(FILES)("the image of %s runs as a user without rights and says whether it is well", (file) => {
  expect(lastStage(file)).toMatch(/^USER 1000:1000$/m);
  expect(lastStage(file)).toMatch(/^HEALTHCHECK .* CMD \[/m);
  expect(textOf(file)).not.toMatch(/^(ENV|ARG) .*(PASSWORD|API_KEY|SECRET|TOKEN)/m);
});

test("the image has what was built and what runs it, and no tools of development", () => {
  const copies = [...lastStage("Dockerfile").matchAll(/^COPY (.*)$/gm)].map(([, args]) => args);
  expect(copies).toEqual([
    "--from=packages /app/node_modules node_modules",
    "--from=build /app/dist dist",
    "package.json LICENSE ./",
    "scripts/healthcheck.mjs scripts/",
  ]);
  expect(textOf("Dockerfile")).toMatch(/AS packages[^]*npm install --no-save --omit=dev[^]*AS build/);
});

test("Node in the image is the version that the set-up brings", () => {
  const [, major] = /^node_major=(\d+)$/m.exec(textOf("scripts/find-node.sh")) ?? [];
  expect(/^ARG NODE_VERSION=(\d+)\.\d+\.\d+$/m.exec(textOf("Dockerfile"))?.[1]).toBe(major);
});

test("only what is copied can get into the image", () => {
  const ignore = textOf(".dockerignore").split("\n");
  const allowed = ignore.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  const sources = [...textOf("Dockerfile").matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, from = ""]) =>
    from.split(" "),
  );
  const copied = [...new Set(sources)];
  expect(ignore.find((line) => !line.startsWith("#"))).toBe("*");
  expect(copied.sort()).toEqual(allowed.sort());
  for (const path of copied) expect(existsSync(join(ROOT, path))).toBe(true);
});
