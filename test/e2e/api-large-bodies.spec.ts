/** Bodies over LIMITS.inlineBodyBytes are parsed and checked in a thread: the same answers, and others do not wait. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { request, type ClientRequest } from "node:http";
import { LIMITS } from "#core";
import type { BodyThreads } from "../../apps/api/src/bodies/body-threads.js";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import type { Answer } from "../support/api-client.js";
import { bodyThreadsOfSources } from "../support/body-threads.js";
import { until } from "../support/until.js";

/** White space behind a JSON text makes a large body of it that says the same. */
const PADDING = " ".repeat(LIMITS.inlineBodyBytes);

/** Tens of megabytes on a busy machine. */
const PATIENCE_MS = 120_000;

let bench: ApiBench;
let artifact: string;
let conversation: string;
/** Bodies that are in a thread now, and how many were. */
const inThreads = { now: 0, all: 0 };

beforeAll(async () => {
  const threads = bodyThreadsOfSources();
  const counted: BodyThreads = {
    check: async (task) => {
      inThreads.now += 1;
      inThreads.all += 1;
      try {
        return await threads.check(task);
      } finally {
        inThreads.now -= 1;
      }
    },
    close: () => threads.close(),
  };
  bench = await openApiBench({
    bodyThreads: counted,
    handlers: { insert: async (payload) => ({ characters: JSON.stringify(payload).length }) },
  });
  artifact = await bench.client.memory();
  conversation = await bench.client.memory({ structure: "conversation" });
});

afterAll(async () => {
  await bench.close();
});

const insertPath = (memory = artifact): string => `/v1/memories/${memory}/insert`;

describe("a large body is refused exactly as a small one", () => {
  const queryPath = (): string => `/v1/memories/${artifact}/query`;
  test.each<[what: string, path: () => string, body: string]>([
    ["text that is no JSON", insertPath, '{"tree": }'],
    ["a name that reaches into prototypes", insertPath, '{"tree": {"type": "Day", "__proto__": {}}}'],
    ["an insert of two kinds", insertPath, '{"tree": {"type": "Day"}, "xml": "<Day/>"}'],
    ["an unknown field", insertPath, '{"tree": {"type": "Day"}, "nodes": 1}'],
    ["a bad name deep in a tree", insertPath, '{"tree": [{"type": "Day", "children": [{"type": "no name"}]}]}'],
    ["an attribute of a wrong kind", insertPath, '{"tree": {"type": "Day", "attributes": {"cost": null}}}'],
    ["a text that cannot be stored", insertPath, '{"tree": {"type": "Day", "attributes": {"name": "\\ud800"}}}'],
    ["an open XML element", insertPath, '{"xml": "<Day>\\n  <Stop>"}'],
    ["messages for an artifact", insertPath, '{"messages": [{"speaker": "Ann", "text": "Hi"}]}'],
    ["bad messages", () => insertPath(conversation), '{"messages": [{"speaker": "", "text": 7}]}'],
    ["an unknown parent", insertPath, '{"tree": {"type": "Day"}, "under": "nod_1"}'],
    ["a query with an error", queryPath, '{"query": "//Day[", "topK": 3}'],
    ["a query with two wrong fields", queryPath, '{"query": 7, "validate": "yes"}'],
    ["an unknown scorer", queryPath, '{"query": "//Day", "scorer": "magic"}'],
    ["a query to be parsed", () => "/v1/query/parse", '{"query": "//Day]"}'],
    ["a query to be explained", () => "/v1/query/explain", '{"query": "//Day", "topK": 0}'],
    ["a memory without a name", () => "/v1/memories", '{"labels": {"1": "x"}}'],
    ["a key without scopes", () => "/v1/admin/keys", '{"scopes": []}'],
  ])("%s", async (_what, path, body) => {
    const shown = ({ status, headers, body }: Answer): unknown => ({
      ...{ status, type: headers.get("content-type"), body: { ...body, requestId: undefined } },
    });
    const before = inThreads.all;
    const small = await bench.client.call("POST", path(), { raw: body });
    expect(small.status).toBeGreaterThanOrEqual(400);
    expect(inThreads.all).toBe(before);
    const large = await bench.client.call("POST", path(), { raw: body + PADDING });
    expect(inThreads.all).toBe(before + 1);
    expect(shown(large)).toEqual(shown(small));
  });

  test("bytes that are not UTF-8", async () => {
    const bytes = new Uint8Array(LIMITS.inlineBodyBytes + 1).fill(0xff);
    const answer = await bench.client.call("POST", insertPath(), { raw: bytes });
    expect([answer.status, answer.body.code, answer.body.detail]).toEqual([
      ...[400, "malformed_json", "The body is not UTF-8."],
    ]);
  });
});

test("a large insert runs, and its Idempotency-Key is honoured", async () => {
  const text = "x".repeat(LIMITS.attributeBytes);
  const children = Array.from({ length: 5 }, () => ({ type: "Note", attributes: { text } }));
  const call = { headers: { "idempotency-key": "large", prefer: "wait=20" } };
  const tree = { type: "Day", children };
  const first = await bench.client.call("POST", insertPath(), { ...call, body: { tree } });
  expect([first.status, first.body.result]).toEqual([200, { characters: JSON.stringify({ tree }).length }]);
  const again = await bench.client.call("POST", insertPath(), { ...call, body: { tree } });
  expect(again.body.id).toBe(first.body.id);
  const other = await bench.client.call("POST", insertPath(), { ...call, body: { tree: { ...tree, type: "Night" } } });
  expect([other.status, other.body.code]).toEqual([409, "idempotency_conflict"]);
});

test("large bodies that never arrive keep no other tenant's out, nor what is small", async () => {
  const call = (key: string, padding: string): Promise<Answer> =>
    bench.client.call("POST", "/v1/query/parse", { key, raw: `{"query": "//Day"}${padding}` });
  const other = await bench.key({ tenant: "ten_other" });
  const { key } = bench.client;
  const uploads = Array.from({ length: LIMITS.largeBodiesWaiting }, () => slowUpload(key));
  try {
    const refused = await until(async () => {
      const answer = await call(key, PADDING);
      return answer.status === 200 ? undefined : answer;
    });
    expect([refused.status, refused.body.code]).toEqual([503, "too_many_large_bodies"]);
    expect(refused.headers.get("retry-after")).not.toBeNull();
    expect((await call(key, "")).status).toBe(200);
    expect((await call(other, PADDING)).status).toBe(200);
  } finally {
    for (const upload of uploads) upload.destroy();
  }
  await until(async () => ((await call(key, PADDING)).status === 200 ? true : undefined));
});

/** A request that says that a large body comes, and sends a byte of it. */
function slowUpload(key: string): ClientRequest {
  const upload = request(`${bench.api.url}/v1/query/parse`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "content-length": 1_000_000 },
  });
  upload.on("error", () => undefined);
  upload.write("{");
  return upload;
}

test(
  "while 30 MB are checked, other requests are answered",
  async () => {
    // Nothing is wrong with it before the name of the last node.
    const attributes = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`a${index}`, "0123456789"]));
    const node = { type: "Note", attributes };
    const children = [...Array.from({ length: 42_000 }, () => node), { type: "no name" }];
    const raw = JSON.stringify({ tree: { type: "Day", children } });
    expect(raw.length).toBeGreaterThan(30_000_000);
    const answering = bench.client.call("POST", insertPath(), { raw });
    let answered = 0;
    const ended = new AbortController();
    void answering.finally(() => {
      ended.abort();
    });
    while (!ended.signal.aborted) {
      const health = await bench.client.call("GET", "/health/live");
      expect(health.status).toBe(200);
      if (inThreads.now > 0) answered += 1;
    }
    const answer = await answering;
    expect([answer.status, answer.body.code]).toEqual([422, "invalid_name"]);
    expect(answer.body.detail).toContain("tree.children[42000].type");
    expect(answered).toBeGreaterThan(10);
  },
  PATIENCE_MS,
);

test(
  "millions of texts under one XML element are refused, wherever the list is too long",
  async () => {
    const xml = `<Day>${"<t>x</t>".repeat(3_000_000)}</Day>`;
    const answer = await bench.client.call("POST", insertPath(), { body: { xml } });
    expect([answer.status, answer.body.code]).toEqual([422, "attribute_too_large"]);
  },
  PATIENCE_MS,
);
