import { expect, test } from "@jest/globals";
import { ConfigError, parseConfig } from "./config.js";

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

test("a provider that needs more says what, and because of what", () => {
  expect(problemsOf({ EMBEDDING_PROVIDER: "openai" })).toEqual([
    "EMBEDDING_URL is needed because EMBEDDING_PROVIDER is openai",
    "EMBEDDING_MODEL is needed because EMBEDDING_PROVIDER is openai",
  ]);
  expect(problemsOf({ ENTAILMENT_PROVIDER: "openai" })[0]).toMatch(/no entailment endpoint/);
});

test("a store that this version does not have is refused, not ignored", () => {
  expect(problemsOf({ NEO4J_URI: "bolt://localhost:7687" })[0]).toMatch(/^NEO4J_URI .*distributed/);
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
