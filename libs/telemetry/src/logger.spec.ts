import { expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import { createLogger } from "./logger.js";

/** What the logger wrote. */
function logged(write: (logger: ReturnType<typeof createLogger>) => void): Record<string, unknown>[] {
  const lines: string[] = [];
  write(createLogger({ level: "info", process: "api" }, { write: (line) => lines.push(line) }));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

test("a secret is not logged, wherever it stands", () => {
  const secret = "esp_1234567890";
  const lines = logged((logger) => {
    logger.info({ authorization: secret }, "top");
    logger.info({ headers: { authorization: secret } }, "one down");
    logger.info({ req: { headers: { authorization: secret, cookie: secret } } }, "two down");
    logger.info({ embedding: { apiKey: secret }, redisUrl: secret }, "configuration");
  });
  expect(lines).toHaveLength(4);
  expect(JSON.stringify(lines)).not.toContain(secret);
  expect(JSON.stringify(lines)).toContain("[secret]");
});

test("an error is logged with its code, its details and its cause", () => {
  const error = new EspalierError("store_unavailable", "The store cannot be reached.", {
    details: { store: "sqlite" },
    cause: new Error("database is locked"),
  });
  const [line] = logged((logger) => {
    logger.child({ job: "job_1" }).error({ err: error }, "a job failed");
  });
  expect(line).toMatchObject({
    level: "error",
    process: "api",
    job: "job_1",
    msg: "a job failed",
    err: { code: "store_unavailable", details: { store: "sqlite" } },
  });
  expect(JSON.stringify(line)).toContain("database is locked");
});

test("what a driver was asked to do is not logged with its error", () => {
  const command = { name: "evalsha", args: ["what a tenant stored"] };
  const refused = Object.assign(new Error("OOM command not allowed"), { command, code: "OOM" });
  const wrapped = new EspalierError("queue_unavailable", "Redis refuses the command.", { cause: refused });
  const many = new AggregateError([refused], "no connection");
  const lines = logged((logger) => {
    for (const err of [refused, wrapped, many]) logger.error({ err }, "request failed");
  });
  expect(lines).toMatchObject([
    { err: { message: "OOM command not allowed", code: "OOM" } },
    { err: { message: "Redis refuses the command.: OOM command not allowed", code: "queue_unavailable" } },
    { err: { aggregateErrors: [{ code: "OOM" }] } },
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/tenant stored|evalsha/);
});

test("what is below the level is not written", () => {
  expect(
    logged((logger) => {
      logger.debug("quiet");
    }),
  ).toEqual([]);
});
