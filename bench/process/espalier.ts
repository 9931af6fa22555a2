import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type Connection } from "../http/connection.js";
import { startChild, type Child } from "./child.js";

const PROGRAM = "dist/apps/cli/src/main.js";

/** Seconds that an insert of a benchmark may take: the longest wait that the API allows. */
const WAIT_SECONDS = 120;

/** A real Espalier: `up` in a folder of its own, or the processes of the distributed profile. */
export interface Espalier {
  /** Of `up`, or of the API. */
  readonly pid: number;
  /** Milliseconds from the spawn to the ready line. */
  readonly readyMs: number;
  readonly connection: Connection;
  /** A POST that must succeed; answers its JSON. Waits for the job's end. */
  post(path: string, body: unknown): Promise<unknown>;
  /** A new memory with a tree in it; answers its id. */
  createMemory(name: string, structure: "artifact" | "conversation", insert: unknown): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Starts `up` with an empty data folder, exactly as bin/espalier does after the set-up.
 * @param environment beside that of this process
 */
export async function startEspalier(environment: NodeJS.ProcessEnv = {}): Promise<Espalier> {
  const folder = await mkdtemp(join(tmpdir(), "espalier-bench-"));
  const child = await startChild(PROGRAM, ["up", "--port", "0", "--data", folder], environment);
  const key = (await readFile(join(folder, "admin.key"), "utf8")).trim();
  return useEspalier(child, key, async () => {
    await child.stop();
    await rm(folder, { recursive: true, force: true });
  });
}

/** A client of the API that a child serves. */
export function useEspalier(child: Child, key: string, stop: () => Promise<void>): Espalier {
  const url = /url=(\S+)/.exec(child.ready)?.[1];
  if (url === undefined) throw new Error(`no address in the ready line: ${child.ready}`);
  const connection = connect(url, key);
  const post = async (path: string, body: unknown): Promise<unknown> => {
    const answer = await connection.send("POST", path, body, { prefer: `wait=${WAIT_SECONDS}` });
    if (answer.status >= 300 || answer.status === 202) {
      throw new Error(`POST ${path} answered ${answer.status}: ${answer.body.slice(0, 500)}`);
    }
    return JSON.parse(answer.body);
  };
  return {
    pid: child.pid,
    readyMs: child.readyMs,
    connection,
    post,
    createMemory: async (name, structure, insert) => {
      const { id } = (await post("/v1/memories", { name, structure })) as { id: string };
      await post(`/v1/memories/${id}/insert`, insert);
      return id;
    },
    stop: async () => {
      connection.close();
      await stop();
    },
  };
}
