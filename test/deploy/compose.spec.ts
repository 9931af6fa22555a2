import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { CONFIG_VARIABLES, fillFromFiles, parseConfig } from "#core";
import { JOB_KINDS } from "#jobs";
import { composeFile, ours, ROOT, services, textOf } from "./compose-file.js";

const LINTER = join(dirname(createRequire(import.meta.url).resolve("dclint/package.json")), "bin/dclint.cjs");

let scratch = "";

beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "espalier-compose-"));
});
afterAll(() => {
  rmSync(scratch, { recursive: true });
});

/** Order and quotes are Prettier's and the author's business; an image that is built here has a name as well. */
const style = [
  ...["no-quotes-in-volumes", "require-quotes-in-ports", "service-keys-order", "services-alphabetical-order"],
  ...["service-dependencies-alphabetical-order", "service-ports-alphabetical-order", "top-level-properties-order"],
  "no-build-and-image",
];

/** What the linter and the schema of the compose specification, which it carries, say about a file. */
function complaintsAbout(path: string): readonly string[] {
  const rules = style.flatMap((rule) => ["--disable-rule", rule]);
  const args = [LINTER, path, "--formatter", "json", "--max-warnings", "0", ...rules];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(stderr).toBe("");
  const files = JSON.parse(stdout) as { messages: { line: number; rule: string; message: string }[] }[];
  return files.flatMap(({ messages }) => messages.map(({ line, rule, message }) => `${line} ${rule}: ${message}`));
}

test("the file is valid by the schema of the compose specification", () => {
  expect(complaintsAbout(join(ROOT, "docker-compose.yml"))).toEqual([]);
});

test("a key that compose does not know is found", () => {
  const file = join(scratch, "docker-compose.yml");
  writeFileSync(file, textOf("docker-compose.yml").replace("read_only: true", "readonly: true"));
  expect(complaintsAbout(file).join("\n")).toMatch(/invalid-schema/);
});

test.each(services)("%s can do nothing that it need not, and is bounded", (_name, service) => {
  expect(service).toMatchObject({
    read_only: true,
    cap_drop: ["ALL"],
    security_opt: ["no-new-privileges:true"],
    restart: "unless-stopped",
    logging: { driver: "json-file", options: { "max-size": expect.any(String), "max-file": expect.any(String) } },
    stop_grace_period: expect.stringMatching(/^\d+s$/),
    deploy: { resources: { limits: { memory: expect.stringMatching(/^\d+[mg]$/), pids: expect.any(Number) } } },
  });
  expect(service.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  // Docker refuses to start a container with more processors than the machine has.
  expect(Number(service.deploy.resources.limits.cpus.replace(/^\$\{\w+:-(.*)\}$/, "$1"))).toBeLessThanOrEqual(2);
});

test.each(services)("%s is of a pinned version and says whether it is well", (_name, service) => {
  expect(service.image).toMatch(/:[a-z]*-?v?\d+\.\d+\.\d+(-[a-z]+)?$/);
  if (service.build === undefined) expect(service.healthcheck?.test[0]).toMatch(/^CMD/);
  else expect(textOf(join(service.build.context, service.build.dockerfile))).toMatch(/^HEALTHCHECK /m);
});

test.each(services)("what %s mounts and joins is declared", (_name, service) => {
  expect(Object.keys(composeFile.secrets)).toEqual(expect.arrayContaining([...(service.secrets ?? [])]));
  expect(Object.keys(composeFile.configs)).toEqual(
    expect.arrayContaining((service.configs ?? []).map(({ source }) => source)),
  );
  expect(Object.keys(composeFile.volumes)).toEqual(
    expect.arrayContaining((service.volumes ?? []).map((volume) => volume.split(":")[0])),
  );
  const joined = Array.isArray(service.networks) ? (service.networks as string[]) : Object.keys(service.networks);
  expect(Object.keys(composeFile.networks)).toEqual(expect.arrayContaining(joined));
  for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
    expect(composeFile.services).toHaveProperty(other);
    expect(condition).toBe("service_healthy");
  }
});

test("files that services are given are there", () => {
  for (const { file } of Object.values(composeFile.configs)) expect(existsSync(join(ROOT, file))).toBe(true);
});

test("only the API and Grafana can be reached from outside, and only from this machine", () => {
  const published = services.filter(([, { ports }]) => ports !== undefined);
  expect(published.map(([name]) => name).sort()).toEqual(["api", "grafana"]);
  for (const [, { ports }] of published) {
    for (const port of ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
  }
  expect(composeFile.networks["stores"]).toEqual({ internal: true });
  expect(composeFile.networks["metrics"]).toEqual({ internal: true });
});

test("no secret is in the file: each comes from a file that bin/secrets makes and that its service mounts", () => {
  const { status } = spawnSync(join(ROOT, "bin/secrets"), [join(scratch, "secrets")]);
  expect(status).toBe(0);
  const made = readdirSync(join(scratch, "secrets")).sort();
  expect(Object.keys(composeFile.secrets).sort()).toEqual(made);
  for (const [name, { file }] of Object.entries(composeFile.secrets)) expect(file).toBe(`deploy/secrets/${name}`);
  for (const [, service] of services) {
    for (const [variable, value] of Object.entries(service.environment ?? {})) {
      if (!/PASSWORD|API_KEY|AUTH|SECRET|TOKEN/.test(variable)) continue;
      expect(variable).toMatch(/_FILE$/);
      expect(service.secrets).toContain(String(value).replace("/run/secrets/", ""));
    }
  }
  // Neither a default nor a value from the shell, where the list of processes and the history would show it.
  expect(textOf("docker-compose.yml")).not.toMatch(/\$\{\w*(PASSWORD|KEY|SECRET|TOKEN|AUTH)/);
  expect(textOf(".gitignore")).toMatch(/^deploy\/secrets\/$/m);
});

test.each(ours)("%s sets only variables that the configuration knows", (_name, service) => {
  const inImage = [...textOf("Dockerfile").matchAll(/^(?:ENV)?\s+([A-Z_]+)=/gm)].map(([, name]) => name);
  const known = new Set([...CONFIG_VARIABLES, ...CONFIG_VARIABLES.map((name) => `${name}_FILE`), "NODE_ENV"]);
  expect(inImage).toContain("ESPALIER_METRICS_PORT");
  for (const name of [...Object.keys(service.environment ?? {}), ...inImage]) {
    if (name !== "ONNXRUNTIME_NODE_INSTALL_CUDA") expect(known).toContain(name);
  }
});

test.each(ours)("%s has a whole configuration of the distributed profile", (_name, service) => {
  const environment = Object.fromEntries(
    Object.entries(service.environment ?? {}).map(([name, value]) => [
      name,
      String(value).replace(/^\$\{.*:-(.*)\}$/, "$1"),
    ]),
  );
  const config = parseConfig(fillFromFiles(environment, (path) => `text of ${path}\n`));
  expect(config.redisUrl).toContain(encodeURIComponent("text of /run/secrets/redis-password"));
  expect(config.distributed).toMatchObject({
    neo4j: { uri: "bolt://neo4j:7687", password: "text of /run/secrets/neo4j-password" },
    qdrant: { url: "http://qdrant:6333", apiKey: "text of /run/secrets/qdrant-api-key" },
  });
  expect(config.webhooks.secretsKey).toBe("text of /run/secrets/secrets-key");
  expect(config.embedding).toMatchObject({ provider: "tei", url: "http://tei:8080" });
  expect(Number.parseInt(String(service["stop_grace_period"]), 10)).toBeGreaterThan(config.shutdownSeconds);
});

test("every role has a worker of its own, and all of them are scraped with the API", () => {
  const roles = ours.flatMap(([name, { command }]) => (name === "api" ? [] : [command?.at(-1)]));
  expect(roles.sort()).toEqual([...JOB_KINDS].sort());
  for (const [name] of ours) expect(textOf("deploy/prometheus/prometheus.yml")).toMatch(new RegExp(`\\b${name}\\b`));
  expect(textOf("deploy/prometheus/rules.yml")).toContain(`== 1)) < ${ours.length} `);
});

test("the model server runs on the CPU by default and on a GPU by its profile, under one name", () => {
  const { tei, "tei-gpu": gpu } = composeFile.services;
  expect(tei).toMatchObject({ build: { args: { TEI_TAG: "cpu-1.9.3" } } });
  expect(tei?.profiles).toBeUndefined();
  expect(gpu).toMatchObject({
    profiles: ["gpu"],
    networks: { models: { aliases: ["tei"] } },
    deploy: { resources: { reservations: { devices: [{ driver: "nvidia", capabilities: ["gpu"] }] } } },
  });
  expect(gpu?.environment).toEqual(tei?.environment);
  expect(textOf("deploy/gpu.env")).toMatch(/^COMPOSE_PROFILES=gpu\nESPALIER_TEI_CPU_REPLICAS=0$/m);
});

test("the stores are the versions that the tests and the drivers are of", () => {
  const { neo4j, qdrant } = composeFile.services;
  const tested = /const VERSION = "(.*)"/.exec(textOf("test/support/neo4j.ts"))?.[1];
  expect(neo4j?.image).toBe(`neo4j:${tested}-community`);
  const { dependencies } = JSON.parse(textOf("package.json")) as { dependencies: Record<string, string> };
  const [major, minor] = (dependencies["@qdrant/js-client-rest"] ?? "").split(".");
  expect(qdrant?.image).toMatch(new RegExp(`^qdrant/qdrant:v${major}\\.${minor}\\.\\d+-unprivileged$`));
});
