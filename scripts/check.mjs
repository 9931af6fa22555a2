/**
 * `npm run check`: types, lint, format, unused code, import rules. Two at a time (a CI machine has two cores), all of them
 * even when one fails, the output of a check in one piece. Exits 1 if any failed.
 */
import { spawn } from "node:child_process";
import { dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const CHECKS = ["lint", "typecheck", "unused", "imports", "format:check"];
const AT_ONCE = 2;

/** Runs one npm script; answers whether it passed and what it said. */
function runScript(name) {
  return new Promise((settle) => {
    const started = performance.now();
    const child = spawn("npm", ["run", "--silent", name], { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    const end = (passed) => settle({ name, passed, output, seconds: (performance.now() - started) / 1_000 });
    child.on("error", (error) => {
      output += error.message;
      end(false);
    });
    child.on("close", (code) => end(code === 0));
  });
}

/** Runs all checks; `report` hears of each as it ends. */
export async function runChecks(report) {
  const waiting = [...CHECKS];
  const results = [];
  const takeTurns = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const result = await runScript(name);
      results.push(result);
      report(result);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, takeTurns));
  return results;
}

/** Prints a check's end, and what it said if it failed. */
export function printCheck({ name, passed, output, seconds }) {
  process.stdout.write(`${passed ? "ok  " : "FAIL"} ${name} (${seconds.toFixed(1)} s)\n`);
  if (!passed) process.stdout.write(`${output.trimEnd()}\n`);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const results = await runChecks(printCheck);
  process.exitCode = results.every((result) => result.passed) ? 0 : 1;
}
