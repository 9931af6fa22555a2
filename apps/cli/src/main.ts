import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { failureProblem, failureText } from "./failure.js";
import { ROOT } from "./locations.js";
import { printJson } from "./output.js";

/**
 * The command line. Each command lives in a file of its own that is loaded when it is called: a query does not pay for the
 * server. Results go to stdout, everything else to stderr; exit code 1 with a sentence when a command fails, 2 when it was
 * called wrongly. A command with --json that fails prints the problem as JSON as well.
 */
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

const program = new Command("espalier")
  .description("Memory for AI agents: typed trees in, Semantic XPath out.")
  .version((JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string }).version)
  .showHelpAfterError("(bin/espalier --help lists the commands and their options)")
  .exitOverride();

/** What the command was asked to print. */
const output = { json: false };
program.hook("preAction", (_program, command) => {
  output.json = command.opts<{ readonly json?: true }>().json === true;
});

/** A command with the options that every client has. */
const client = (text: string): Command =>
  program
    .command(text)
    .option("--url <url>", "where the API is (default: ESPALIER_URL, else the up of the data folder)")
    .option("--key <key>", "API key (default: ESPALIER_KEY, else admin.key of the data folder)")
    .option("--data <folder>", "data folder (default: ESPALIER_DATA, else .espalier)")
    .option("--json", "print JSON, of a failure the problem");

program
  .command("up")
  .description("start the API and the workers on this machine, with everything kept in one folder")
  .option("--port <n>", "port of the API, 0 for any free one (default: ESPALIER_PORT, else 7700)", port)
  .option("--data <folder>", "where everything is kept (default: ESPALIER_DATA, else .espalier)")
  .action(async (options: import("./commands/up.js").UpOptions) => {
    await (await import("./commands/up.js")).up(options);
  });

program
  .command("api")
  .description("start the API alone, configured by the environment; needs REDIS_URL")
  .action(async () => {
    await (await import("./commands/api.js")).api();
  });

program
  .command("worker")
  .description("start a worker alone, configured by the environment; needs REDIS_URL")
  .option("--roles <roles>", "queues to work on, joined by commas", "query,insert,score,maintain")
  .action(async (options: import("./commands/worker.js").WorkerOptions) => {
    await (await import("./commands/worker.js")).worker(options);
  });

client("import")
  .description("insert a file into a memory: a tree (.json, .xml) or a chat transcript (.jsonl)")
  .argument("<memory>", "id or name; a name that does not exist yet is created")
  .argument("<file>", "the file")
  .action(async (memory: string, file: string, options: import("./commands/import.js").ImportOptions) => {
    await (await import("./commands/import.js")).importFile(memory, file, options);
  });

client("query")
  .description("run a Semantic XPath query")
  .argument("<memory>", "id or name")
  .argument("<query>", "for example '//Day[avg(/POI[node~=\"conference\"])]'")
  .option("--scorer <name>", "similarity, entailment, lexical or hybrid (default: the memory's)")
  .option("--top-k <n>", "at most so many rows", whole)
  .option("--min-score <x>", "only rows with at least this score", fraction)
  .option("--min-ratio <x>", "only rows with at least this share of the best score", fraction)
  .option("--max-tokens <n>", "stop before the rows have more tokens than this", whole)
  .option("--no-evidence", "leave the evidence out")
  .option("--subtree", "what lies below each row")
  .option("--no-validate", "unknown types and attributes answer no rows instead of an error")
  .option("--trace", "print how the rows were scored")
  .action(async (memory: string, query: string, options: import("./commands/query.js").QueryOptions) => {
    await (await import("./commands/query.js")).query(memory, query, options);
  });

client("memories")
  .description("list the memories, the newest first")
  .option("--label <name=value>", "only those with this label; may be given several times", label)
  .action(async (options: import("./commands/memories.js").MemoriesOptions) => {
    await (await import("./commands/memories.js")).memories(options);
  });

client("schema")
  .description("list the types of a memory with their attributes: the names that queries can use")
  .argument("<memory>", "id or name")
  .action(async (memory: string, options: import("./commands/schema.js").SchemaOptions) => {
    await (await import("./commands/schema.js")).schema(memory, options);
  });

client("doctor")
  .description("check this installation and the running server; exit code 1 if something is wrong")
  .option(
    "--repair",
    "have vectors that differ from the trees repaired (distributed profile; needs the scope operator)",
  )
  .action(async (options: import("./commands/doctor.js").DoctorOptions) => {
    await (await import("./commands/doctor.js")).doctor(options);
  });

program
  .command("demo")
  .description("import three example memories into a folder that is removed afterwards, and run eight queries")
  .addOption(new Option("--json", "print JSON"))
  .action(async (options: import("./commands/demo.js").DemoOptions) => {
    await (await import("./commands/demo.js")).demo(options);
  });

function whole(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError("It must be a whole number from 1.");
  return value;
}

function port(text: string): number {
  const value = Number(text);
  if (text === "" || !Number.isSafeInteger(value) || value < 0 || value > 65_535) {
    throw new InvalidArgumentError("It must be a port, 0 to 65535.");
  }
  return value;
}

function label(text: string, before: readonly string[] = []): readonly string[] {
  if (!/^[^=]+=/.test(text)) throw new InvalidArgumentError("It must be NAME=VALUE.");
  return [...before, text];
}

function fraction(text: string): number {
  const value = Number(text);
  if (text === "" || !(value >= 0 && value <= 1)) throw new InvalidArgumentError("It must be a number from 0 to 1.");
  return value;
}

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof Error && "code" in error && String(error.code).startsWith("commander.")) {
    // Commander has said it already; help and version end well.
    process.exit("exitCode" in error && error.exitCode === 0 ? 0 : EXIT_USAGE);
  }
  process.stderr.write(`${failureText(error)}\n`);
  if (output.json) printJson(failureProblem(error));
  process.exit(EXIT_FAILED);
}
