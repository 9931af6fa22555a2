import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "@jest/globals";
import { describeWithQdrant, qdrantServer, startQdrant } from "../support/qdrant.js";
import { until } from "../support/until.js";

const run = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
const server = await startQdrant({ run: run.pid ?? 0 });
const suite = "skipped" in server ? describe.skip : describe;
if ("skipped" in server) run.kill();

suite("the REST front of Qdrant", () => {
  test("ends with the run that it was started for, also when that is killed", async () => {
    if ("skipped" in server) return;
    expect((await fetch(server.url)).status).toBe(200);
    run.kill("SIGKILL");
    await once(run, "exit");
    await until(() =>
      fetch(server.url).then(
        () => undefined,
        () => true,
      ),
    );
    await server.close();
  });
});

await describeWithQdrant("the Qdrant of the tests", ({ url, real }) => {
  test("is the same for every file of a worker", async () => {
    expect(await qdrantServer()).toEqual({ url, real });
  });
});
