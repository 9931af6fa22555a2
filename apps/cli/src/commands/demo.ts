import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { colors } from "../colors.js";
import { createLogger } from "#telemetry";
import { ApiClient, type MemoryAnswer } from "../client/api-client.js";
import { checkedConfig } from "../checked-config.js";
import { startEmbedded } from "../embedded/start-embedded.js";
import { readImport, structureFor } from "../importing/read-import.js";
import { runImport } from "../importing/run-import.js";
import { environmentWithPlaces, ROOT, setting } from "../locations.js";
import { print, printJson } from "../output.js";
import { queryTable, type QueryAnswer } from "../query-table.js";
import { stopOnSignals } from "../stop-on-signals.js";

export interface DemoOptions {
  readonly json?: true;
}

/** One query of examples/demo-queries.json; what it does not say is the API's default. */
interface DemoQuery {
  /** Name of a file in examples, without its ending, and of the memory made from it. */
  readonly memory: string;
  readonly title: string;
  readonly query: string;
  readonly [option: string]: unknown;
}

/** What one query answered. */
interface DemoResult {
  readonly title: string;
  readonly memory: MemoryAnswer;
  readonly answer: QueryAnswer;
  /** Of the whole request, as the caller sees it. */
  readonly milliseconds: number;
}

const EXAMPLES = join(ROOT, "examples");

/** `espalier demo`: the whole system in a folder of its own, with real data and real answers, then nothing of it left. */
export async function demo(options: DemoOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "espalier-demo-"));
  const environment = environmentWithPlaces({
    ...process.env,
    // A Redis that the caller may have is not for playing with.
    REDIS_URL: "",
    ESPALIER_PORT: "0",
    ESPALIER_DATA: folder,
    LOG_LEVEL: setting(process.env, "LOG_LEVEL") ?? "warn",
  });
  try {
    const given = await checkedConfig(environment);
    const logger = createLogger({ level: given.logLevel, process: "demo" });
    const starting = startEmbedded({ environment, given, logger });
    const close = async (): Promise<void> => {
      await (await starting).close();
      await rm(folder, { recursive: true, force: true });
    };
    stopOnSignals({ stop: close, logger });
    const started = performance.now();
    const { url, key } = await starting;
    if (options.json !== true) print(`started in ${seconds(performance.now() - started)}: ${url}, data in ${folder}\n`);
    const results = await play(new ApiClient(url, key.created), options);
    if (options.json === true) printJson(results);
    await close();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  if (options.json !== true) print(colors.dim("stopped, and the demo's folder removed"));
  // Connections that the client keeps open for more requests would hold the process for some seconds.
  process.exit(0);
}

async function play(client: ApiClient, options: DemoOptions): Promise<readonly DemoResult[]> {
  const queries = JSON.parse(await readFile(join(EXAMPLES, "demo-queries.json"), "utf8")) as readonly DemoQuery[];
  const memories = new Map<string, MemoryAnswer>();
  for (const name of new Set(queries.map((query) => query.memory))) {
    const since = performance.now();
    const memory = await importExample(client, name);
    memories.set(name, memory);
    if (options.json !== true) {
      print(
        `imported ${name}: ${memory.nodes} nodes, ${memory.tokens} tokens, in ${seconds(performance.now() - since)}`,
      );
    }
  }
  const results: DemoResult[] = [];
  for (const query of queries) {
    const memory = memories.get(query.memory);
    if (memory === undefined) continue;
    const result = await ask(client, memory, query);
    results.push(result);
    if (options.json !== true) print(shown(result));
  }
  return results;
}

async function importExample(client: ApiClient, name: string): Promise<MemoryAnswer> {
  const content = await readImport(join(EXAMPLES, `${name}.json`));
  const { id } = await client.call<MemoryAnswer>("/v1/memories", {
    method: "POST",
    body: { name, structure: structureFor(content) },
  });
  await runImport({ client, memory: id, content, onProgress: () => undefined });
  return client.call<MemoryAnswer>(`/v1/memories/${id}`);
}

async function ask(client: ApiClient, memory: MemoryAnswer, given: DemoQuery): Promise<DemoResult> {
  const { title } = given;
  const body = Object.fromEntries(Object.entries(given).filter(([name]) => name !== "memory" && name !== "title"));
  const since = performance.now();
  const answer = await client.call<QueryAnswer>(`/v1/memories/${memory.id}/query`, {
    method: "POST",
    body,
    headers: { prefer: "wait=60" },
  });
  return { title, memory, answer, milliseconds: Number((performance.now() - since).toFixed(1)) };
}

function shown({ title, memory, answer, milliseconds }: DemoResult): string {
  const share = memory.tokens === 0 ? 0 : (100 * answer.tokens) / memory.tokens;
  return [
    "",
    `${colors.bold(title)} ${colors.dim(`(${memory.name})`)}`,
    colors.cyan(`  ${answer.query}`),
    queryTable(answer),
    colors.dim(
      `  ${answer.scoring.scorer}, ${milliseconds} ms; rows ${answer.tokens} tokens, memory ${memory.tokens} tokens (${share.toFixed(1)} %)`,
    ),
  ].join("\n");
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)} s`;
}
