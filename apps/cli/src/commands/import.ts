import { SingleBar } from "cli-progress";
import type { ApiClient, MemoryAnswer } from "../client/api-client.js";
import { openClient, type ConnectionOptions } from "../client/connection.js";
import { findMemory } from "../client/find-memory.js";
import { CommandError } from "../command-error.js";
import { readImport, structureFor } from "../importing/read-import.js";
import { runImport, type OnImportProgress } from "../importing/run-import.js";
import { print, printJson } from "../output.js";
import type { Structure } from "#memory";

export interface ImportOptions extends ConnectionOptions {
  readonly json?: true;
}

/** `espalier import MEMORY FILE` */
export async function importFile(memoryName: string, file: string, options: ImportOptions): Promise<void> {
  const client = openClient(options, process.env);
  const content = await readImport(file);
  const { memory, created } = await findOrCreate(client, memoryName, structureFor(content));
  if (content.kind === "messages" && memory.structure !== "conversation") {
    throw new CommandError(
      `${memoryName} is ${memory.structure}, a transcript needs a conversation memory: import ${file} under another name.`,
    );
  }
  const started = performance.now();
  const bar = progressBar();
  const summary = await runImport({ client, memory: memory.id, content, onProgress: bar.update })
    .catch((error: unknown) => {
      throw error instanceof CommandError ? error.of(file) : error;
    })
    .finally(bar.stop);
  const seconds = (performance.now() - started) / 1_000;
  if (options.json === true) {
    printJson({ memory: memory.id, name: memory.name, created, ...summary, seconds: Number(seconds.toFixed(3)) });
    return;
  }
  const rate = Math.round(summary.inserted / seconds);
  print(
    `${created ? "created and imported" : "imported"} ${memory.name} (${memory.id}): ${summary.inserted} nodes, revision ${summary.revision}, ${seconds.toFixed(1)} s, ${rate} nodes/s`,
  );
}

async function findOrCreate(
  client: ApiClient,
  name: string,
  structure: Structure,
): Promise<{ readonly memory: MemoryAnswer; readonly created: boolean }> {
  const found = await findMemory(client, name);
  if (found !== undefined) return { memory: found, created: false };
  const memory = await client.call<MemoryAnswer>("/v1/memories", { method: "POST", body: { name, structure } });
  return { memory, created: true };
}

/** A bar on stderr where a person looks, else nothing. */
function progressBar(): { readonly update: OnImportProgress; readonly stop: () => void } {
  if (!process.stderr.isTTY) return { update: () => undefined, stop: () => undefined };
  const bar = new SingleBar({
    format: "{bar} {percentage}% {value}/{total} nodes, {duration_formatted}",
    hideCursor: true,
  });
  let running = false;
  return {
    update: (done, total) => {
      if (!running) bar.start(total, done);
      running = true;
      bar.update(done);
    },
    stop: () => {
      if (running) bar.stop();
    },
  };
}
