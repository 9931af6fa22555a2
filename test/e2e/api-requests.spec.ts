import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { connect } from "node:net";
import { LIMITS } from "#core";
import { ALL_OPERATIONS } from "../../apps/api/src/http/operations.js";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import type { Answer } from "../support/api-client.js";

let bench: ApiBench;
let memory: string;
let before: string;

beforeAll(async () => {
  bench = await openApiBench({
    handlers: {
      insert: async () => ({ revision: 1, inserted: 1, roots: [] }),
      query: async (_payload, context) => ({ job: context.id, rows: [] }),
    },
    environment: { ESPALIER_BODY_LIMIT: String(4 * 1024 * 1024) },
  });
  memory = await bench.client.memory({ labels: { user: "u1" } });
  await bench.client.insert(memory, { tree: { type: "Day" } });
});

afterAll(async () => {
  await bench.close();
});

/** Everything that a refused request could have changed. */
async function state(): Promise<string> {
  const [memories, jobs, keys] = await Promise.all(
    ["/v1/memories", "/v1/jobs", "/v1/admin/keys"].map((path) => bench.client.call("GET", `${path}?limit=1000`)),
  );
  return [memories?.text, jobs?.text, keys?.text].join("\n");
}

const refused = (answer: Answer, status: number, code: string): void => {
  expect({ status: answer.status, code: answer.body.code, text: answer.text }).toMatchObject({ status, code });
  expect(answer.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
  expect(answer.body.requestId).toBe(answer.headers.get("x-request-id"));
  expect(answer.body.detail.length).toBeGreaterThan(0);
};

const insert = (body: unknown): Promise<Answer> => bench.client.call("POST", `/v1/memories/${memory}/insert`, { body });

describe("a refused request changes nothing", () => {
  beforeEach(async () => {
    before = await state();
  });

  afterEach(async () => {
    expect(await state()).toBe(before);
  });

  test("malformed JSON: 400, and where", async () => {
    for (const raw of ["{", "nonsense", '{"name": "a",}', '"\\', '{"a":1} {"b":2}']) {
      refused(await bench.client.call("POST", "/v1/memories", { raw }), 400, "malformed_json");
    }
    const placed = await bench.client.call("POST", "/v1/memories", { raw: '{"name": "a",}' });
    expect(placed.body.detail).toContain("at character 13");
    const invalid = await bench.client.call("POST", "/v1/memories", { raw: new Uint8Array([0x22, 0xff, 0x22]) });
    refused(invalid, 400, "malformed_json");
    const none = await bench.client.call("POST", "/v1/memories", { headers: { "content-type": "application/json" } });
    refused(none, 400, "malformed_json");
  });

  test("JSON that would change prototypes is refused", async () => {
    for (const raw of [
      '{"name": "a", "__proto__": {"x": 1}}',
      '{"name":"a","labels":{"constructor":{"prototype":{}}}}',
    ]) {
      refused(await bench.client.call("POST", "/v1/memories", { raw }), 422, "reserved_name");
    }
    const raw = '{"tree": {"type": "Day", "attributes": {"__proto__": "x"}}}';
    refused(await bench.client.call("POST", `/v1/memories/${memory}/insert`, { raw }), 422, "reserved_name");
    for (const xml of ['<Day __proto__="x"/>', "<Day><__proto__>x</__proto__></Day>", "<__proto__/>"]) {
      refused(await insert({ xml }), 422, "reserved_name");
    }
  });

  test("far too many of anything is refused before it is looked at, and hardly any of it comes back", async () => {
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`field ${index}`, null]));
    const list = new Array(200_000).fill(7);
    const post = (path: string, body: unknown): Promise<Answer> => bench.client.call("POST", path, { body });
    const wrong: readonly (readonly [Answer, number, string])[] = [
      [await post("/v1/memories", { ...many, name: "a" }), 400, "invalid_request"],
      [await post("/v1/memories", { name: "a", labels: many }), 422, "too_many_labels"],
      [await post("/v1/memories", { name: "a", templates: many }), 400, "invalid_request"],
      [await post("/v1/memories", { name: "a", scoring: many }), 400, "invalid_request"],
      [await post("/v1/admin/keys", { scopes: list }), 400, "invalid_request"],
      [await insert(many), 400, "invalid_request"],
      [await insert({ ...many, tree: { type: "Day" } }), 400, "invalid_request"],
      [await insert({ tree: { ...many, type: "Day" } }), 400, "invalid_request"],
      [await insert({ tree: { type: "Day", attributes: many } }), 422, "too_many_attributes"],
      [await insert({ tree: { type: "Day", attributes: { list } } }), 422, "attribute_too_large"],
      [await insert({ messages: list }), 422, "too_many_nodes"],
      [await insert({ messages: [{ ...many, speaker: "Ann", text: "hi" }] }), 400, "invalid_request"],
      [await bench.client.query(memory, { query: "//Day", include: list }), 400, "invalid_request"],
      [await bench.client.query(memory, { query: "//Day", ["x".repeat(1_000_000)]: 1 }), 400, "invalid_request"],
    ];
    for (const [answer, status, code] of wrong) {
      refused(answer, status, code);
      expect(answer.text.length).toBeLessThan(2_000);
    }
  });

  test("parameters that a route does not take, and one that is given twice", async () => {
    for (const path of [`/v1/memories/${memory}`, "/openapi.json", "/health/live", `/v1/memories/${memory}/schema`]) {
      const answer = await bench.client.call("GET", `${path}?colour=red`);
      refused(answer, 400, "invalid_request");
      expect(answer.body.errors.map(({ path: name }) => name)).toEqual(["colour"]);
    }
    for (const query of ["label.user=u1&label.user=u2", "name=a&name=b", "limit=1&limit=2"]) {
      const answer = await bench.client.call("GET", `/v1/memories?${query}`);
      refused(answer, 400, "invalid_request");
      expect(answer.body.detail).toContain("more than once");
    }
  });

  test("a filter by a label that no memory has lists none, whatever its name", async () => {
    for (const name of ["nobody", "__proto__", "constructor"]) {
      const answer = await bench.client.call("GET", `/v1/memories?label.${name}=x`);
      expect({ name, status: answer.status, items: answer.body.items }).toEqual({ name, status: 200, items: [] });
    }
  });

  test("a place in a stream that Redis cannot have is refused", async () => {
    const path = `/v1/jobs/${(await bench.client.call("GET", "/v1/jobs")).body.items[0]?.id ?? ""}/events`;
    for (const place of ["now", "1", `${"9".repeat(19)}-0`, `0-${"9".repeat(20)}`]) {
      refused(await bench.client.call("GET", path, { headers: { "last-event-id": place } }), 400, "invalid_request");
    }
  });

  test("a body over the limit: 413", async () => {
    const answer = await insert({ tree: { type: "Day", attributes: { text: "x".repeat(5 * 1024 * 1024) } } });
    refused(answer, 413, "body_too_large");
  });

  test("another content type: 415", async () => {
    for (const type of ["text/plain", "application/xml", "application/x-www-form-urlencoded"]) {
      const answer = await bench.client.call("POST", "/v1/memories", {
        raw: "name=x",
        headers: { "content-type": type },
      });
      refused(answer, 415, "unsupported_media_type");
    }
  });

  test("unknown fields and wrong kinds: 400, every problem with its path", async () => {
    const answer = await bench.client.call("POST", "/v1/memories", {
      body: { name: 7, labels: { user: 1 }, structure: "forest", colour: "red" },
    });
    refused(answer, 400, "invalid_request");
    const paths = answer.body.errors.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(["name", "labels.user", "structure", "colour"]));
    refused(await bench.client.query(memory, { query: "//Day", limit: 3 }), 400, "invalid_request");
    refused(await insert({ tree: { type: "Day" }, colour: "red" }), 400, "invalid_request");
    refused(await insert({ tree: { type: "Day", colour: "red" } }), 400, "invalid_request");
    refused(await bench.client.call("GET", "/v1/memories?colour=red"), 400, "invalid_request");
    refused(await bench.client.call("GET", "/v1/memories?name=a&name=b"), 400, "invalid_request");
    refused(await bench.client.call("GET", "/v1/jobs?limit=0"), 400, "invalid_request");
    refused(await bench.client.call("GET", "/v1/jobs?limit=1001"), 400, "invalid_request");
  });

  test("of an insert of bad messages every problem of the messages is told, and none of a tree", async () => {
    const answer = await insert({
      messages: [
        { speaker: "", text: 7 },
        { speaker: "Ann", text: "Hi" },
        { text: "Hi", time: "noon", colour: "red" },
      ],
    });
    refused(answer, 400, "invalid_request");
    expect(answer.body.errors.map(({ path }) => path).sort()).toEqual([
      ...["messages[0].speaker", "messages[0].text", "messages[2].colour", "messages[2].speaker", "messages[2].time"],
    ]);
  });

  test("an insert without, or with two of, tree, xml and messages says which it needs", async () => {
    for (const body of [{}, { under: "nod_x" }, { tree: { type: "Day" }, xml: "<Day/>" }, []]) {
      refused(await insert(body), 400, "invalid_request");
    }
  });

  test("a cursor that is not ours: 400", async () => {
    for (const path of ["/v1/memories", "/v1/jobs", "/v1/admin/keys", `/v1/memories/${memory}/tree`]) {
      refused(await bench.client.call("GET", `${path}?cursor=bm9wZQ`), 400, "invalid_cursor");
    }
  });

  test("unknown routes: 404; methods that a route lacks: 405 with Allow", async () => {
    for (const path of ["/v1/memories/", "/v1/jobs/", "/v1/memories//tree", "/v1/jobs//events"]) {
      refused(await bench.client.call("GET", path), 404, "route_not_found");
    }
    for (const path of ["/", "/v1", "/v1/memories/x/edits", `/v1/memories/${memory}/search`, "/admin/none", "/mcp"]) {
      refused(await bench.client.call("GET", path), 404, "route_not_found");
    }
    refused(await bench.client.call("POST", `/v1/memories/${memory}/ask`, { body: {} }), 404, "route_not_found");
    const answer = await bench.client.call("PUT", `/v1/memories/${memory}`, { body: {} });
    refused(answer, 405, "method_not_allowed");
    expect(answer.headers.get("allow")).toBe("GET, PATCH, DELETE");
    refused(await bench.client.call("GET", `/v1/memories/${"x".repeat(500)}`), 404, "route_not_found");
    refused(await bench.client.call("GET", "/v1/memories/%E0%A4%A"), 400, "invalid_request");
  });

  test("Idempotency-Key where it is not honoured: 400, on every route that writes nothing", async () => {
    const honours = new Set(ALL_OPERATIONS.filter(({ idempotent }) => idempotent !== undefined).map(({ id }) => id));
    expect([...honours].sort()).toEqual([
      ...["cancelJob", "createKey", "createMemory", "createTenant", "createWebhook", "deleteKey", "deleteMemory"],
      ...[
        "deleteTenant",
        "deleteWebhook",
        "insert",
        "patchMemory",
        "patchTenant",
        "patchWebhook",
        "redeliver",
        "repairDrift",
      ],
      ...["replayDeadLetter", "replayDeadLetters", "retryJob", "rotateKey", "rotateWebhook"],
    ]);
    const document = (await bench.client.call("GET", "/openapi.json")).body;
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { operationId }] of Object.entries(methods)) {
        if (honours.has(operationId)) continue;
        const answer = await bench.client.call(method.toUpperCase(), path.replaceAll(/\{[a-z]+\}/g, memory), {
          headers: { "idempotency-key": "k" },
        });
        refused(answer, 400, "idempotency_not_supported");
      }
    }
  });

  test("names and labels with NUL or lone surrogates: 422", async () => {
    for (const name of ["a\u0000b", "\ud800", "x\udc00y"]) {
      refused(await bench.client.call("POST", "/v1/memories", { body: { name } }), 422, "invalid_text");
      const labels = { user: name };
      refused(await bench.client.call("POST", "/v1/memories", { body: { name: "a", labels } }), 422, "invalid_text");
      refused(await bench.client.call("PATCH", `/v1/memories/${memory}`, { body: { name } }), 422, "invalid_text");
    }
  });

  test("settings of a memory out of their range", async () => {
    const create = (body: object): Promise<Answer> =>
      bench.client.call("POST", "/v1/memories", { body: { name: "a", ...body } });
    refused(await create({ name: "" }), 400, "invalid_request");
    refused(await create({ name: "é".repeat(300) }), 422, "name_too_long");
    refused(await create({ labels: { user: "é".repeat(200) } }), 422, "label_too_large");
    refused(await create({ labels: { ["u".repeat(129)]: "x" } }), 422, "name_too_long");
    refused(await create({ labels: { ["u".repeat(1_000_000)]: "x" } }), 422, "name_too_long");
    refused(await create({ embeddingModel: "m".repeat(513) }), 400, "invalid_request");
    refused(await create({ scoring: { scorer: "magic" } }), 422, "unknown_scorer");
    refused(await create({ scoring: { a: 2 } }), 400, "invalid_request");
    refused(await create({ scoring: { entailmentTemplate: "no hole" } }), 400, "invalid_request");
    refused(await create({ labels: { "not a name": "x" } }), 422, "invalid_name");
    const labels = Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`l${index}`, "x"]));
    refused(await create({ labels }), 422, "too_many_labels");
    refused(await create({ templates: { "1Day": "{name}" } }), 422, "invalid_name");
    // Repeated, 64 KiB of text would be 40 MB of text.
    refused(await create({ templates: { Day: "{text}".repeat(600) } }), 400, "invalid_request");
    refused(await create({ templates: { Day: "{title}: {text} ({title})" } }), 400, "invalid_request");
    const unheardOf = await create({ embeddingModel: "unheard-of" });
    refused(unheardOf, 422, "model_unknown");
    expect(unheardOf.body).toMatchObject({
      errors: [{ path: "embeddingModel" }],
      models: ["bench-model", "other-model"],
    });
    refused(await bench.client.call("PATCH", `/v1/memories/${memory}`, { body: {} }), 400, "invalid_request");
  });

  test("keys that cannot be", async () => {
    const create = (body: object): Promise<Answer> => bench.client.call("POST", "/v1/admin/keys", { body });
    refused(await create({ scopes: [] }), 400, "invalid_request");
    refused(await create({ scopes: ["root"] }), 400, "invalid_request");
    refused(await create({ scopes: ["read", "read"] }), 400, "invalid_request");
    refused(await create({ scopes: ["read"], expiresAt: "2001-01-01T00:00:00Z" }), 400, "invalid_request");
    refused(await create({ scopes: ["read"], memoryPrefix: "nod_" }), 400, "invalid_request");
  });

  test("type names that are not names, reserved names, and names of attributes that are not", async () => {
    for (const type of ["", "1Day", "a b", "-x", "e\u0301"]) {
      refused(await insert({ tree: { type } }), 422, "invalid_name");
    }
    refused(await insert({ tree: { type: "x".repeat(129) } }), 422, "name_too_long");
    for (const type of ["Memory", "Version"]) refused(await insert({ tree: { type } }), 422, "reserved_name");
    refused(await insert({ tree: { type: "Day", attributes: { node: "x" } } }), 422, "reserved_name");
    refused(await insert({ tree: { type: "Day", attributes: { "a b": "x" } } }), 422, "invalid_name");
    refused(await insert({ tree: { type: "Day", metadata: { "": "x" } } }), 422, "invalid_name");
  });

  test("attributes of wrong kinds, too large, too many, or with texts that cannot be stored", async () => {
    for (const value of [null, {}, { a: 1 }, [1], [["a"]], ["a", null]]) {
      refused(await insert({ tree: { type: "Day", attributes: { name: value } } }), 422, "invalid_attribute");
    }
    const raw = '{"tree": {"type": "Day", "attributes": {"cost": 1e999}}}';
    refused(await bench.client.call("POST", `/v1/memories/${memory}/insert`, { raw }), 422, "invalid_attribute");
    const large = { name: "x".repeat(1024 * 1024) };
    refused(await insert({ tree: { type: "Day", attributes: large } }), 422, "attribute_too_large");
    const many = Object.fromEntries(Array.from({ length: LIMITS.nodeAttributes + 1 }, (_, index) => [`a${index}`, 1]));
    refused(await insert({ tree: { type: "Day", attributes: many } }), 422, "too_many_attributes");
    for (const text of ["a\u0000", "\ud800", "\udfff tail"]) {
      refused(await insert({ tree: { type: "Day", attributes: { name: text } } }), 422, "invalid_text");
      refused(await insert({ tree: { type: "Day", metadata: { source: text } } }), 422, "invalid_text");
    }
  });

  test("trees too deep, too wide, too large", async () => {
    let deep: unknown = { type: "Leaf" };
    for (let depth = 0; depth < LIMITS.treeDepth; depth += 1) deep = { type: "Day", children: [deep] };
    refused(await insert({ tree: deep }), 422, "tree_too_deep");
    const wide = Array.from({ length: LIMITS.insertNodes + 1 }, () => ({ type: "A" }));
    refused(await insert({ tree: wide }), 422, "too_many_nodes");
    for (const tree of [null, 7, "Day", [], [null], { children: [] }, { type: "Day", children: {} }]) {
      const answer = await insert({ tree });
      expect({ tree, status: answer.status >= 400 && answer.status < 500 }).toEqual({ tree, status: true });
    }
  });

  test("XML bombs, external entities and broken XML", async () => {
    const bomb = `<?xml version="1.0"?><!DOCTYPE z [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><Day>&b;</Day>`;
    const external = `<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><Day>&x;</Day>`;
    for (const xml of [
      bomb,
      external,
      "<Day>&x;</Day>",
      "<Day>",
      "<Day></Night>",
      "",
      "text",
      "<A/><B/>",
      "<Day a='1' a='2'/>",
    ]) {
      const answer = await insert({ xml });
      refused(answer, 422, "invalid_xml");
      expect(answer.text).not.toContain("root:");
    }
    refused(await insert({ xml: "<Memory/>" }), 422, "reserved_name");
  });

  test("messages into a memory that is no conversation, and messages that are none", async () => {
    refused(await insert({ messages: [{ speaker: "Ann", text: "hi" }] }), 422, "invalid_structure");
    refused(await insert({ messages: [] }), 400, "invalid_request");
    refused(await insert({ messages: [{ speaker: "Ann" }] }), 400, "invalid_request");
    refused(await insert({ messages: [{ speaker: "Ann", text: "hi", time: "yesterday" }] }), 400, "invalid_request");
  });

  test("a parent that does not exist: 404", async () => {
    refused(await insert({ tree: { type: "Day" }, under: "nod_nonsense" }), 404, "node_not_found");
    const under = "nod_01m7yfpajkfvp9k1khw8q36q83";
    refused(await insert({ tree: { type: "Day" }, under }), 404, "node_not_found");
    refused(await bench.client.call("GET", `/v1/memories/${memory}/tree?under=${under}`), 404, "node_not_found");
  });

  test("every kind of syntax error: 400 with line, column and caret", async () => {
    const wrong: readonly (readonly [string, string])[] = [
      ["", "syntax_error"],
      ["Day", "syntax_error"],
      ["//", "syntax_error"],
      ["//Day[", "syntax_error"],
      ["//Day[]", "syntax_error"],
      ['//Day[node~="x]', "syntax_error"],
      ['//Day[node~="\\q"]', "syntax_error"],
      ["//Day[node=x]", "syntax_error"],
      ["//Day $", "syntax_error"],
      ["//Day[0]", "position_zero"],
      ['//Day[node~="x"][2]', "position_after_predicate"],
      ['//Day[([node~="a"]+[node~="b"])/3]', "mean_count"],
      [`//${"/A".repeat(20)}`.replace("///", "//"), "too_many_steps"],
      [`//A${'[b="1"]'.repeat(9)}`, "too_many_predicates"],
      [`//A[node~="${"x".repeat(2_100)}"]`, "string_too_long"],
      [`//A[${"(".repeat(20)}node~="x"${")".repeat(20)}]`, "query_too_deep"],
      [`//A[node~="x"]${" ".repeat(9_000)}`, "query_too_long"],
    ];
    for (const [query, code] of wrong) {
      const answer = await bench.client.query(memory, { query });
      refused(answer, 400, code);
      expect(answer.body).toMatchObject({ line: 1, column: expect.any(Number), caret: expect.stringContaining("^") });
      const parsed = await bench.client.call("POST", "/v1/query/parse", { body: { query } });
      expect({ query, code: parsed.body.code, column: parsed.body.column }).toEqual({
        query,
        code,
        column: answer.body.column,
      });
    }
  });

  test("topK 0, negative, broken or huge; an unknown scorer; shares out of range", async () => {
    for (const topK of [0, -1, 1.5, "5", null]) {
      refused(await bench.client.query(memory, { query: "//Day", topK }), 400, "invalid_request");
    }
    refused(await bench.client.query(memory, { query: "//Day", topK: LIMITS.topK + 1 }), 400, "topk_too_large");
    refused(await bench.client.query(memory, { query: "//Day", scorer: "magic" }), 422, "unknown_scorer");
    refused(await bench.client.query(memory, { query: "//Day", minScore: 2 }), 400, "invalid_request");
    refused(await bench.client.query(memory, { query: "//Day", include: ["everything"] }), 400, "invalid_request");
  });
});

test("metadata of a message is counted and checked as that of a node", async () => {
  const conversation = await bench.client.memory({ structure: "conversation" });
  const into = (metadata: unknown): Promise<Answer> =>
    bench.client.insert(conversation, { messages: [{ speaker: "Ann", text: "hi", metadata }] });
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`field ${index}`, null]));
  refused(await into(many), 422, "too_many_attributes");
  refused(await into({ list: new Array(200_000).fill(7) }), 422, "attribute_too_large");
  refused(await into({ list: [7] }), 422, "invalid_attribute");
  refused(await into(7), 400, "invalid_request");
  expect((await into({ source: "mail", tags: ["a"] })).status).toBe(200);
});

test("an unknown memory is 404 before anything else is looked at", async () => {
  const unknown = "mem_01m7yfpajkfvp9k1khw8q36q83";
  for (const [method, path, body] of [
    ["POST", "/query", { query: "((((" }],
    ["POST", "/insert", { nonsense: true }],
    ["PATCH", "", {}],
    ["GET", "/tree?limit=0", undefined],
  ] as const) {
    const answer = await bench.client.call(
      method,
      `/v1/memories/${unknown}${path}`,
      body === undefined ? {} : { body },
    );
    refused(answer, 404, "memory_not_found");
  }
});

test("right-to-left and CJK texts, emoji and names in any script work", async () => {
  const labels = { user: "משתמש", 地域: "東京" };
  const created = await bench.client.call("POST", "/v1/memories", { body: { name: "رحلة 旅行 🧭", labels } });
  expect(created.status).toBe(201);
  expect(created.body).toMatchObject({ name: "رحلة 旅行 🧭", labels });
  const found = await bench.client.call(
    "GET",
    `/v1/memories?${new URLSearchParams({ "label.地域": "東京", name: "رحلة 旅行 🧭" }).toString()}`,
  );
  expect(found.body.items.map(({ id }) => id)).toEqual([created.body.id]);
});

test("bytes that are not HTTP are answered with a problem, and the connection ends", async () => {
  const { hostname, port } = new URL(bench.api.url);
  const socket = connect(Number(port), hostname);
  socket.end("nonsense\r\n\r\n");
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  expect(text).toMatch(/^HTTP\/1\.1 400/);
  expect(text).toContain("application/problem+json");
});
