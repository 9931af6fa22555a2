import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** scripts/find-node.sh on a machine with an old Node and an npm that fails. */
const SCRIPT = resolve(import.meta.dirname, "../../scripts/find-node.sh");

let root = "";

const program = (name: string, text: string): void => {
  writeFileSync(join(root, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(root, name), 0o755);
};

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "espalier-node-"));
  program("node", "echo v18.20.4");
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const findNode = (): { readonly status: number | null; readonly stderr: string } =>
  spawnSync("sh", ["-c", `root="${root}"; . "${SCRIPT}"`], {
    env: { PATH: `${root}:/usr/bin:/bin` },
    encoding: "utf8",
  });

test("when npm cannot fetch Node, what it says went wrong is shown, and only that", () => {
  program(
    "npm",
    `[ "$1" = --version ] && { echo 10.9.0; exit; }
echo "npm warn config an old option"
echo "npm error code SELF_SIGNED_CERT_IN_CHAIN"
echo "npm error request failed, reason: self-signed certificate in certificate chain"
echo "npm error A complete log of this run can be found in: somewhere"
exit 1`,
  );
  const { status, stderr } = findNode();
  expect(status).toBe(1);
  expect(stderr).toMatch(/npm could not fetch Node 24: check the network .* see the README/);
  expect(stderr.split("npm said:\n")[1]).toBe(
    "npm error code SELF_SIGNED_CERT_IN_CHAIN\nnpm error request failed, reason: self-signed certificate in certificate chain\n",
  );
});

test("an npm that says nothing of errors is quoted with its last lines", () => {
  program("npm", '[ "$1" = --version ] && { echo 10.9.0; exit; }\necho "killed by the system"; exit 137');
  expect(findNode().stderr).toContain("npm said:\nkilled by the system");
});
