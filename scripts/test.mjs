/**
 * Behind bin/test: the checks of `npm run check`, then Jest. Each check counts as one test. Arguments go to Jest and leave
 * the checks out. The last line of stdout is `N passed, N failed`; exits 1 if anything failed.
 */
import { spawn } from "node:child_process";
import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { printCheck, runChecks } from "./check.mjs";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const REPORT = join(ROOT, ".cache", "jest.json");

/** Runs Jest with a report on the side; answers its exit code. */
function runJest(args) {
  const jest = ["--experimental-vm-modules", "--no-warnings", join(ROOT, "node_modules", "jest", "bin", "jest.js")];
  const report = ["--json", `--outputFile=${REPORT}`];
  return new Promise((settle) => {
    // With --json Jest prints the report itself to stdout; what people read goes to stderr.
    const child = spawn(process.execPath, [...jest, ...report, ...args], {
      cwd: ROOT,
      stdio: ["ignore", "ignore", "inherit"],
    });
    child.on("error", () => settle(1));
    child.on("close", (code) => settle(code ?? 1));
  });
}

/** Counts of a Jest run. A file that could not run at all, or a run without a report, is one failure. */
async function countJest(exitCode) {
  const text = await readFile(REPORT, "utf8").catch(() => undefined);
  if (text === undefined) return { passed: 0, failed: 1 };
  const report = JSON.parse(text);
  const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
  return { passed: report.numPassedTests, failed: failed === 0 && exitCode !== 0 ? 1 : failed };
}

const args = process.argv.slice(2);
const checks = args.length === 0 ? await runChecks(printCheck) : [];
await mkdir(dirname(REPORT), { recursive: true });
await rm(REPORT, { force: true });
const jest = await countJest(await runJest(args));
const passed = checks.filter((check) => check.passed).length + jest.passed;
const failed = checks.filter((check) => !check.passed).length + jest.failed;
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
