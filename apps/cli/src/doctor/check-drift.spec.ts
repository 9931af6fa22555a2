import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { afterEach, expect, test } from "@jest/globals";
import { checkDrift } from "./check-drift.js";

let server: Server | undefined;
afterEach(() => {
  server?.close();
});

const seen: string[] = [];

/** A server that gives these answers one after the other, the last one again and again. */
async function answering(...answers: readonly (object | number)[]): Promise<string> {
  const left = [...answers];
  seen.length = 0;
  server = createServer((request, response) => {
    seen.push(`${request.method ?? ""} ${request.url ?? ""}`);
    const answer = left.length > 1 ? left.shift() : left[0];
    if (typeof answer === "number") response.writeHead(answer).end("{}");
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const APART = { stores: "apart", points: 0, memories: 0, pendingRows: 0 };
const TIMES = { startedAt: "2026-01-01T00:00:02.000Z", finishedAt: "2026-01-01T00:00:03.000Z" };

test("stores that share transactions are not spoken of, unless a repair is asked for", async () => {
  const url = await answering({ stores: "together" });
  expect(await checkDrift({ url, key: "k", mode: "look" })).toEqual([]);
  expect(await checkDrift({ url, key: "k", mode: "repair" })).toMatchObject([{ check: "points", state: "skipped" }]);
});

test("what differs is a failure that says how to repair it", async () => {
  const url = await answering({ ...APART, points: 4, memories: 2, pendingRows: 7 });
  const [found] = await checkDrift({ url, key: "k", mode: "look" });
  expect(found).toMatchObject({ check: "points", state: "failed" });
  expect(found!.detail).toBe(
    "4 points of 2 memories differ from their trees (7 texts wait for score workers): add --repair",
  );
});

test("a repair is followed until a comparison that began after it is over and nothing differs", async () => {
  const askedAt = "2026-01-01T00:00:01.000Z";
  const url = await answering(
    { ...APART, points: 1, memories: 1, askedAt, retriedRows: 3, startedAt: "2025-12-31T00:00:00.000Z" },
    { ...APART, points: 5, memories: 2, askedAt, startedAt: TIMES.startedAt },
    { ...APART, pendingRows: 5, askedAt, ...TIMES },
  );
  const findings = await checkDrift({ url, key: "k", mode: "repair" });
  expect(findings).toMatchObject([
    { check: "outbox", state: "ok", detail: "3 texts that had been given up are tried again" },
    { check: "points", state: "ok", detail: "5 points differed and were repaired; 5 texts wait for score workers" },
  ]);
  expect(seen[0]).toBe("POST /v1/admin/drift/repair");
  expect(seen.slice(1)).toEqual(["GET /v1/admin/drift", "GET /v1/admin/drift"]);
});

test("a repair that nobody does is said to be not over, with what to look at", async () => {
  const url = await answering({ ...APART, points: 1, memories: 1, askedAt: "2026-01-01T00:00:01.000Z" });
  const [found] = await checkDrift({ url, key: "k", mode: "repair", followMs: 100 });
  expect(found).toMatchObject({ state: "failed", detail: expect.stringContaining("role maintain") });
});

test("a key that may not ask is told so, and a server that fails is a failure of this check alone", async () => {
  const forbidding = await answering(403);
  expect(await checkDrift({ url: forbidding, key: "k", mode: "repair" })).toMatchObject([
    { state: "skipped", detail: expect.stringContaining("operator") },
  ]);
  server?.close();
  const failing = await answering(503);
  expect(await checkDrift({ url: failing, key: "k", mode: "look" })).toMatchObject([{ state: "failed" }]);
});
