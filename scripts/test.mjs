/**
 * Behind bin/test: the checks of `npm run check`, then Jest. Each check counts as one test. Arguments go to Jest and leave
 * the checks out. The last line of stdout is `N passed, N failed`; exits 1 if anything failed.
 *
 * Test files that failed run once more, alone: suites with servers and processes of their own share the machine with
 * others. What passes then is counted as passed and named as `unsteady`; more than a few files are not tried again.
 */
import { spawn } from "node:child_process";
import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { printCheck, runChecks } from "./check.mjs";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const REPORT = join(ROOT, ".cache", "jest.json");

/** More failing files than this are no matter of a busy machine. */
const FILES_TRIED_AGAIN = 4;

/** Runs Jest with a report on the side; answers the report, or undefined where there is none. */
async function runJest(args) {
  await rm(REPORT, { force: true });
  const jest = ["--experimental-vm-modules", "--no-warnings", join(ROOT, "node_modules", "jest", "bin", "jest.js")];
  const report = ["--json", `--outputFile=${REPORT}`];
  await new Promise((settle) => {
    // With --json Jest prints the report itself to stdout; what people read goes to stderr.
    const child = spawn(process.execPath, [...jest, ...report, ...args], {
      cwd: ROOT,
      stdio: ["ignore", "ignore", "inherit"],
    });
    child.on("error", settle);
    child.on("close", settle);
  });
  const text = await readFile(REPORT, "utf8").catch(() => undefined);
  return text === undefined ? undefined : JSON.parse(text);
}

/** Counts of a Jest run. A file that could not run at all, or a run without a report, is one failure. */
function countsOf(report) {
  if (report === undefined) return { passed: 0, failed: 1 };
  const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
  return { passed: report.numPassedTests, failed: failed === 0 && !report.success ? 1 : failed };
}

const failedFiles = (report) =>
  (report?.testResults ?? []).filter(({ status }) => status === "failed").map(({ name }) => name);

/** The counts of a run whose failed files were given a second try. */
async function countWithSecondTry(report) {
  const first = countsOf(report);
  const files = failedFiles(report);
  if (files.length === 0 || files.length > FILES_TRIED_AGAIN) return first;
  process.stderr.write(`\nOnce more, alone: ${files.map((file) => relative(ROOT, file)).join(", ")}\n`);
  const again = await runJest(["--runInBand", "--runTestsByPath", ...files]);
  const stillFailed = new Set(failedFiles(again));
  for (const file of files) {
    if (again !== undefined && !stillFailed.has(file)) process.stdout.write(`unsteady: ${relative(ROOT, file)}\n`);
  }
  const passedBefore = report.testResults
    .filter(({ name }) => files.includes(name))
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === "passed").length;
  const second = countsOf(again);
  return { passed: first.passed - passedBefore + second.passed, failed: second.failed };
}

/** Suites whose server or tool this machine lacks count neither way, and are named. */
function printSkipped(report) {
  for (const { name, assertionResults } of report?.testResults ?? []) {
    const skipped = assertionResults.filter(({ status }) => status === "pending").length;
    if (skipped > 0) process.stdout.write(`skipped: ${relative(ROOT, name)}, ${skipped} tests\n`);
  }
}

const args = process.argv.slice(2);
const checks = args.length === 0 ? await runChecks(printCheck) : [];
await mkdir(dirname(REPORT), { recursive: true });
const report = await runJest(args);
if (args.length === 0) printSkipped(report);
const jest = await countWithSecondTry(report);
const passed = checks.filter((check) => check.passed).length + jest.passed;
const failed = checks.filter((check) => !check.passed).length + jest.failed;
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
