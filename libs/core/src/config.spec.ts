import { expect, test } from "@jest/globals";
import { ConfigError, parseConfig } from "./config.js";
import { LIMITS } from "./limits.js";

const problemsOf = (environment: Record<string, string>, needs: Record<string, string> = {}): readonly string[] => {
  try {
    parseConfig(environment, needs);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};

test("an empty environment is the embedded profile with local embeddings and no entailment", () => {
  const config = parseConfig({});
  expect(config.embedding).toEqual({ provider: "local" });
  expect(config.entailment).toBeUndefined();
  expect(config.redisUrl).toBeUndefined();
  expect(config.host).toBe("127.0.0.1");
});

test("empty variables count as unset", () => {
  expect(parseConfig({ REDIS_URL: "", ESPALIER_PORT: "" }).redisUrl).toBeUndefined();
});

test("every problem is listed at once, by the variable's name", () => {
  const problems = problemsOf({ ESPALIER_PORT: "99999", REDIS_URL: "not a url", LOG_LEVEL: "loud" });
  for (const name of ["ESPALIER_PORT", "REDIS_URL", "LOG_LEVEL"]) {
    expect(problems.some((line) => line.startsWith(name))).toBe(true);
  }
});

test("each problem says what would be right", () => {
  const limits = { ESPALIER_PORT: "http", ESPALIER_BODY_LIMIT: "32 MiB", ESPALIER_SHUTDOWN_SECONDS: "601" };
  expect(problemsOf({ ...limits, LOG_LEVEL: "loud", REDIS_URL: "here" }).toSorted()).toEqual([
    "ESPALIER_BODY_LIMIT must be a whole number of bytes, as 33554432",
    "ESPALIER_PORT must be a port: a whole number from 0 to 65535",
    "ESPALIER_SHUTDOWN_SECONDS must be a whole number of seconds from 1 to 600",
    "LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent",
    "REDIS_URL must be a URL",
  ]);
  expect(problemsOf({ ESPALIER_PORT: "0", ESPALIER_BODY_LIMIT: "33554432" })).toEqual([]);
  expect(problemsOf({ ESPALIER_BODY_LIMIT: "1e6" })).toHaveLength(1);
});

test("a provider that needs more says what, and because of what", () => {
  expect(problemsOf({ EMBEDDING_PROVIDER: "openai" })).toEqual([
    "EMBEDDING_URL is needed because EMBEDDING_PROVIDER is openai",
    "EMBEDDING_MODEL is needed because EMBEDDING_PROVIDER is openai",
  ]);
  expect(problemsOf({ ENTAILMENT_PROVIDER: "openai" })[0]).toMatch(/no entailment endpoint/);
});

test("the models that memories may name are a list", () => {
  const nameable = (EMBEDDING_MODELS: string) => parseConfig({ EMBEDDING_MODELS }).embedding.nameable;
  expect(parseConfig({}).embedding.nameable).toBeUndefined();
  expect(nameable("small, large")).toEqual(["small", "large"]);
  for (const wrong of ["small,", ",", "small,,large", "two words"]) {
    expect(problemsOf({ EMBEDDING_MODELS: wrong })).toEqual([
      "EMBEDDING_MODELS must be names of models, joined by commas",
    ]);
  }
});

const stores = { NEO4J_URI: "neo4j://graph:7687", QDRANT_URL: "http://vectors:6333" };

test("with an address of Neo4j and one of Qdrant it is the distributed profile", () => {
  expect(parseConfig({}).distributed).toBeUndefined();
  expect(parseConfig(stores).distributed).toEqual({
    neo4j: { uri: "neo4j://graph:7687", username: "neo4j" },
    qdrant: { url: "http://vectors:6333", quantization: "none" },
  });
  const settings = {
    ...{ NEO4J_USERNAME: "espalier", NEO4J_PASSWORD: "p", NEO4J_DATABASE: "memories" },
    ...{ QDRANT_API_KEY: "k", QDRANT_QUANTIZATION: "scalar", QDRANT_EXACT_BELOW: "0" },
  };
  expect(parseConfig({ ...stores, ...settings }).distributed).toEqual({
    neo4j: { uri: "neo4j://graph:7687", username: "espalier", password: "p", database: "memories" },
    qdrant: { url: "http://vectors:6333", apiKey: "k", quantization: "scalar", exactBelow: 0 },
  });
});

test("what a process holds of its memories in SQLite is a number of bytes, and may be nothing", () => {
  expect(parseConfig({}).imageBytes).toBeUndefined();
  expect(parseConfig({ SQLITE_IMAGE_BYTES: "4294967296" }).imageBytes).toBe(4 * 1024 ** 3);
  expect(parseConfig({ SQLITE_IMAGE_BYTES: "0" }).imageBytes).toBe(0);
  for (const wrong of ["-1", "512MiB", "1.5", "1e9"]) {
    expect(problemsOf({ SQLITE_IMAGE_BYTES: wrong })).toEqual([expect.stringMatching(/^SQLITE_IMAGE_BYTES must be/)]);
  }
});

test("one of the two addresses without the other is a problem", () => {
  expect(problemsOf({ NEO4J_URI: stores.NEO4J_URI })[0]).toMatch(/^QDRANT_URL is needed because NEO4J_URI is set/);
  expect(problemsOf({ QDRANT_URL: stores.QDRANT_URL })[0]).toMatch(/^NEO4J_URI is needed because QDRANT_URL is set/);
});

test("addresses of stores that no driver takes are refused", () => {
  const refused = (variables: Record<string, string>): readonly string[] => problemsOf({ ...stores, ...variables });
  for (const address of ["http://graph:7474", "graph:7687", "neo4j://", "neo4j://neo4j:secret@graph:7687"]) {
    expect(refused({ NEO4J_URI: address })).toEqual([expect.stringMatching(/^NEO4J_URI must be/)]);
  }
  for (const address of ["neo4j://graph:7687", "bolt+s://graph", "neo4j+ssc://[::1]:7687/"]) {
    expect(refused({ NEO4J_URI: address })).toEqual([]);
  }
  expect(refused({ QDRANT_URL: "vectors:6334" })).toEqual([expect.stringMatching(/^QDRANT_URL must be/)]);
  expect(refused({ QDRANT_QUANTIZATION: "binary", QDRANT_EXACT_BELOW: "1.5" })).toHaveLength(2);
});

test("the password of Redis goes into its address, whatever characters it has", () => {
  const redisUrl = parseConfig({ REDIS_URL: "redis://queue:6379/1", REDIS_PASSWORD: "a/b:c@d%" }).redisUrl;
  expect(new URL(redisUrl!).host).toBe("queue:6379");
  expect(decodeURIComponent(new URL(redisUrl!).password)).toBe("a/b:c@d%");
  expect(parseConfig({ REDIS_URL: redisUrl!, REDIS_PASSWORD: "a/b:c@d%" }).redisUrl).toBe(redisUrl);
  expect(problemsOf({ REDIS_URL: "redis://:one@queue", REDIS_PASSWORD: "other" })[0]).toMatch(/^REDIS_PASSWORD is not/);
  expect(problemsOf({ REDIS_URL: "unix:///run/redis.sock", REDIS_PASSWORD: "p" })).toEqual([
    "REDIS_PASSWORD cannot be sent to an address without a host: unset it",
  ]);
  expect(problemsOf({ REDIS_PASSWORD: "p" })).toEqual(["REDIS_URL is needed because REDIS_PASSWORD is set"]);
});

test("what is wrong between variables is listed together with what is wrong in one", () => {
  expect(problemsOf({ NEO4J_URI: stores.NEO4J_URI, ESPALIER_PORT: "99999" })).toHaveLength(2);
});

test("tenants have limits unless they are told to have none", () => {
  expect(parseConfig({}).tenantLimits).toEqual({
    ...{ requestsPerSecond: LIMITS.tenantRequestsPerSecond, burst: LIMITS.tenantBurst },
    ...{ queuedJobs: LIMITS.tenantQueuedJobs, queuedBytes: LIMITS.tenantQueuedBytes, inFlight: LIMITS.tenantInFlight },
    ...{ memories: LIMITS.tenantMemories, keys: LIMITS.tenantKeys, idempotencyKeys: LIMITS.tenantIdempotencyKeys },
  });
  expect(parseConfig({ ESPALIER_TENANT_REQUESTS_PER_SECOND: "5" }).tenantLimits).not.toHaveProperty("burst");
  const none = { ESPALIER_TENANT_REQUESTS_PER_SECOND: "unlimited", ESPALIER_TENANT_QUEUED_JOBS: "unlimited" };
  const quotas = { ESPALIER_TENANT_NODES: "0", ESPALIER_TENANT_BYTES: "1073741824", ESPALIER_TENANT_KEYS: "unlimited" };
  expect(parseConfig({ ...none, ...quotas }).tenantLimits).toEqual({
    ...{ queuedBytes: LIMITS.tenantQueuedBytes, inFlight: LIMITS.tenantInFlight, nodes: 0, bytes: 1_073_741_824 },
    ...{ memories: LIMITS.tenantMemories, idempotencyKeys: LIMITS.tenantIdempotencyKeys },
  });
  for (const wrong of ["-1", "0", "1.5", "NaN", "1e3", "Infinity", "99999999999999999999"]) {
    expect(problemsOf({ ESPALIER_TENANT_REQUESTS_PER_SECOND: wrong })).toEqual([
      "ESPALIER_TENANT_REQUESTS_PER_SECOND must be a whole number, at least 1, or unlimited",
    ]);
  }
  expect(problemsOf({ ...none, ESPALIER_TENANT_BURST: "5" })[0]).toMatch(/^ESPALIER_TENANT_BURST does nothing/);
});

test("metrics have a port of their own only when one is set", () => {
  expect(parseConfig({}).metricsPort).toBeUndefined();
  expect(parseConfig({ ESPALIER_METRICS_PORT: "9100" }).metricsPort).toBe(9100);
  expect(problemsOf({ ESPALIER_METRICS_PORT: "-1" })[0]).toMatch(/^ESPALIER_METRICS_PORT/);
});

test("what a process cannot do without is missed together with everything else that is wrong", () => {
  expect(problemsOf({ LOG_LEVEL: "info" }, { REDIS_URL: "workers share it" })).toEqual([
    "REDIS_URL is needed because workers share it",
  ]);
  expect(problemsOf({ ESPALIER_PORT: "99999", REDIS_URL: "" }, { REDIS_URL: "workers share it" })).toHaveLength(2);
});
