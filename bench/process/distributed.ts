import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startRedis } from "../../test/support/redis.js";
import { startChild } from "./child.js";
import { useEspalier, type Espalier } from "./espalier.js";

const ROLES = ["query", "insert", "score", "maintain"] as const;

/** Why the distributed profile cannot run here; `undefined` if it can. */
export function distributedMissing(): string | undefined {
  const { NEO4J_URI, QDRANT_URL } = process.env;
  return NEO4J_URI === undefined || QDRANT_URL === undefined ? "NEO4J_URI and QDRANT_URL are not set" : undefined;
}

/**
 * The distributed profile on the Neo4j and the Qdrant of the environment: a private Redis, an API and a worker of each role, a
 * process each. A Neo4j that has keys already needs one of them as `ESPALIER_KEY`. What it stores stays in the servers.
 */
export async function startDistributed(): Promise<Espalier> {
  await using opened = new AsyncDisposableStack();
  const redis = await startRedis();
  opened.defer(() => redis.close());
  const folder = await mkdtemp(join(tmpdir(), "espalier-bench-"));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const environment = {
    ...{ REDIS_URL: `unix://${redis.address}`, ESPALIER_DATA: folder, ESPALIER_PORT: "0", LOG_LEVEL: "warn" },
  };
  const api = await startChild("dist/apps/cli/src/main.js", ["api"], environment);
  opened.defer(() => api.stop());
  for (const role of ROLES) {
    const worker = await startChild("dist/bench/process/ready-worker.js", [role], environment);
    opened.defer(() => worker.stop());
  }
  const key = process.env["ESPALIER_KEY"] ?? (await readFile(join(folder, "admin.key"), "utf8")).trim();
  const closing = opened.move();
  return useEspalier(api, key, () => closing.disposeAsync());
}
