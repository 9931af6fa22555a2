import { expect, test } from "@jest/globals";
import { ConfigError, parseConfig } from "./config.js";
import { fillFromFiles } from "./file-variables.js";

const files: Readonly<Record<string, string>> = { "/secrets/neo4j": "s3cret word\n", "/secrets/empty": "\n" };

const readText = (path: string): string => {
  const text = files[path];
  if (text === undefined) throw new Error("ENOENT");
  return text;
};

const fill = (environment: Record<string, string>): Record<string, string> => fillFromFiles(environment, readText);

const problemsOf = (environment: Record<string, string>): readonly string[] => {
  try {
    parseConfig(fill(environment), { REDIS_URL: "it is shared" });
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};

test("a variable given as a file has the file's text, without the line's end", () => {
  expect(fill({ NEO4J_PASSWORD_FILE: "/secrets/neo4j", HOME: "/root" })).toEqual({
    NEO4J_PASSWORD: "s3cret word",
    HOME: "/root",
  });
});

test("files of variables that are not ours stay what they are", () => {
  const environment = { SSL_CERT_FILE: "/secrets/neo4j", NEO4J_PASSWORD_FILE: "" };
  expect(fill(environment)).toEqual(environment);
});

test("both the variable and its file are a problem, an empty variable is none", () => {
  const file = { REDIS_URL: "redis://queue", QDRANT_API_KEY_FILE: "/secrets/neo4j" };
  expect(problemsOf({ ...file, QDRANT_API_KEY: "k" })).toEqual([
    "QDRANT_API_KEY_FILE and QDRANT_API_KEY are both set: unset one of them",
  ]);
  expect(problemsOf({ ...file, QDRANT_API_KEY: "" })).toEqual([]);
});

test("a file that is empty or away is a problem of its own name, listed once with the other problems", () => {
  expect(
    problemsOf({ REDIS_URL_FILE: "/secrets/gone", NEO4J_PASSWORD_FILE: "/secrets/empty", LOG_LEVEL: "loud" }),
  ).toEqual([
    expect.stringMatching(/^LOG_LEVEL /),
    "REDIS_URL_FILE names a file that is empty or cannot be read: /secrets/gone",
    "NEO4J_PASSWORD_FILE names a file that is empty or cannot be read: /secrets/empty",
  ]);
});
