import { writeFile } from "node:fs/promises";
import { Command, InvalidArgumentError, Option } from "commander";
import { PROFILES, type Bench, type Profile } from "./bench.js";
import { axes } from "./benches/axes.js";
import { concurrency } from "./benches/concurrency.js";
import { fairness } from "./benches/fairness.js";
import { footprint } from "./benches/footprint.js";
import { ingest } from "./benches/ingest.js";
import { locomo } from "./benches/locomo.js";
import { queue } from "./benches/queue.js";
import { queryOverhead } from "./benches/query-overhead.js";
import { requests } from "./benches/requests.js";
import { scan } from "./benches/scan.js";
import { soak } from "./benches/soak.js";
import { stores } from "./benches/stores.js";
import { takeover } from "./benches/takeover.js";
import { describeMachine } from "./machine.js";
import { printReport } from "./print-report.js";

const BENCHES: readonly Bench[] = [
  ...[requests, locomo],
  ...[queryOverhead, concurrency, scan, axes, stores, ingest, footprint],
  ...[queue, fairness, takeover, soak],
];

interface Options {
  readonly json?: string;
  readonly limit?: number;
  readonly minutes?: number;
  readonly profile?: Profile;
}

/** Runs a benchmark: the report on stdout, progress on stderr. A goal that is missed does not fail the run. */
async function run(bench: Bench, { json, limit, minutes, profile = "embedded" }: Options): Promise<void> {
  const machine = await describeMachine();
  const progress = (line: string): void => {
    process.stderr.write(`${line}\n`);
  };
  const report = await bench.run({ limit, minutes, profile, progress });
  if ("skipped" in report) {
    process.stdout.write(`${bench.name} skipped: ${report.skipped}\n`);
    return;
  }
  process.stdout.write(printReport(bench.name, machine, report));
  if (json !== undefined) {
    const { figures, goals, notes } = report;
    await writeFile(json, `${JSON.stringify({ bench: bench.name, machine, goals, notes, figures }, null, 2)}\n`);
  }
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError("a whole number from 1 on is needed");
  return value;
}

const program = new Command("bench").description("Benchmarks of Espalier; docs/benchmarks.md keeps the figures.");
for (const bench of BENCHES) {
  const command = program.command(bench.name).description(bench.summary);
  command.option("--json <file>", "write the figures to a file");
  if (bench.limit !== undefined) command.option("--limit <n>", `a smaller run: ${bench.limit}`, positive);
  if (bench.minutes !== undefined) command.option("--minutes <n>", bench.minutes, positive);
  if (bench.profiles === true) {
    command.addOption(new Option("--profile <name>", "the stores to run on").choices(PROFILES).default("embedded"));
  }
  command.action(async (options: Options) => run(bench, options));
}
await program.parseAsync();
