/**
 * `npm run chaos -- --rounds N [--row NAME]`: the long form of the failure table (test/chaos), with the product's own times
 * and outages as long as docs/guarantees.md says. Prints a table of the rows; exits 1 if anything did not hold.
 */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");

const { values } = parseArgs({ options: { rounds: { type: "string", default: "1" }, row: { type: "string" } } });
if (!/^[1-9][0-9]*$/.test(values.rounds)) {
  process.stderr.write("--rounds must be a whole number from 1\n");
  process.exit(2);
}

const folder = await mkdtemp(join(tmpdir(), "espalier-chaos-report-"));
const report = join(folder, "rows.jsonl");
const code = await runRows();
const rows = await readRows();
await rm(folder, { recursive: true });
print(rows);
process.exitCode = rows.length === 0 ? 1 : code;

function runRows() {
  const jest = ["--experimental-vm-modules", "--no-warnings", join(ROOT, "node_modules", "jest", "bin", "jest.js")];
  const chosen = values.row === undefined ? [] : ["--testNamePattern", `^(.* )?${values.row}: `];
  const child = spawn(process.execPath, [...jest, "--runInBand", "test/chaos", ...chosen], {
    cwd: ROOT,
    // The table alone goes to stdout.
    stdio: ["ignore", 2, 2],
    env: {
      ...process.env,
      ESPALIER_CHAOS_LONG: "1",
      ESPALIER_CHAOS_ROUNDS: values.rounds,
      ESPALIER_CHAOS_REPORT: report,
    },
  });
  return new Promise((settle) => child.on("close", (exit) => settle(exit ?? 1)));
}

async function readRows() {
  const text = await readFile(report, "utf8").catch(() => "");
  const told = text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  // Each round tells of the rounds so far.
  return [...new Map(told.map((figures) => [figures.row, figures])).values()];
}

function print(found) {
  const day = new Date().toISOString().slice(0, 10);
  process.stdout.write(`${day}, ${availableParallelism()} cores, Node ${process.version}\n\n`);
  process.stdout.write("| row | rounds | acknowledged | lost | doubled | out of order | recovery p50 | max |\n");
  process.stdout.write("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const { row, rounds, acknowledged, lost, doubled, outOfOrder, recoveredMs } of found) {
    const sorted = recoveredMs.toSorted((one, other) => one - other);
    const at = (share) => `${(sorted[Math.ceil(share * sorted.length) - 1] / 1_000).toFixed(1)} s`;
    const cells = [row, rounds, acknowledged, lost, doubled, outOfOrder, at(0.5), at(1)];
    process.stdout.write(`| ${cells.join(" | ")} |\n`);
  }
}
