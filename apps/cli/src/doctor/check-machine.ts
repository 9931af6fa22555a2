import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { parseConfig } from "#core";
import { checkEntailer } from "#models";
import { setting } from "../locations.js";
import { failed, find, ok, skipped, type Finding } from "./finding.js";

const NODE_MAJOR = 24;
const REDIS_MINIMUM = 7;

/** The runtime, the configuration, the Redis program and the models' files. */
export async function checkMachine(environment: NodeJS.ProcessEnv): Promise<readonly Finding[]> {
  return [
    await find("node", async () => {
      const { node } = process.versions;
      return Number.parseInt(node, 10) >= NODE_MAJOR
        ? ok(node)
        : failed(`${node} is older than ${NODE_MAJOR}: run through bin/espalier`);
    }),
    await find("configuration", async () => {
      const { embedding, entailment } = parseConfig(environment);
      return ok(`embeddings ${embedding.provider}, entailment ${entailment?.provider ?? "not configured"}`);
    }),
    await find("entailment model", () => checkEntailmentModel(environment)),
    await find("redis program", () => checkRedisProgram(environment)),
    await find("models", () => checkModels(environment)),
  ];
}

async function checkEntailmentModel(environment: NodeJS.ProcessEnv) {
  const { entailment, modelsFolder } = parseConfig(environment);
  if (entailment === undefined) return skipped("not configured: the scorer entailment has no model");
  if (entailment.provider !== "local") return skipped(`judgements come from ${entailment.url ?? "a server"}`);
  await checkEntailer(entailment, { modelsFolder });
  return ok(`${entailment.model ?? "none"} has what a classifier needs`);
}

async function checkRedisProgram(environment: NodeJS.ProcessEnv) {
  if (setting(environment, "REDIS_URL") !== undefined) return skipped("REDIS_URL names a Redis that runs already");
  const { stdout } = await promisify(execFile)("redis-server", ["--version"]).catch(() => ({ stdout: "" }));
  const version = /v=([\d.]+)/.exec(stdout)?.[1];
  if (version === undefined) return failed("redis-server is not on the PATH: run bin/setup");
  return Number.parseInt(version, 10) >= REDIS_MINIMUM
    ? ok(version)
    : failed(`${version} is older than ${REDIS_MINIMUM}: install a newer one`);
}

/** Every file of every fetched model against the SHA-256 that it was fetched with. */
async function checkModels(environment: NodeJS.ProcessEnv) {
  if ((setting(environment, "EMBEDDING_PROVIDER") ?? "local") !== "local")
    return skipped("embeddings come from a server");
  const folder = setting(environment, "ESPALIER_MODELS") ?? ".models";
  const checked: string[] = [];
  for (const model of await readdir(folder).catch(() => [])) {
    const record = await readFile(join(folder, model, "verified.json"), "utf8").catch(() => undefined);
    if (record === undefined) continue;
    for (const [file, { sha256 }] of Object.entries(JSON.parse(record) as Record<string, { sha256: string }>)) {
      const found = await sha256Of(join(folder, model, file)).catch(() => "nothing");
      if (found !== sha256) {
        return failed(`${join(folder, model, file)} is not what was fetched: remove it and run bin/setup`);
      }
    }
    checked.push(model);
  }
  return checked.length > 0
    ? ok(`${checked.join(", ")}: every file has its SHA-256`)
    : failed(`no model in ${folder}: run bin/setup`);
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
