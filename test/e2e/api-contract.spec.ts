import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openEmbeddingModels } from "#models";
import { ALL_OPERATIONS, OPERATIONS } from "../../apps/api/src/http/operations.js";
import type { Operation } from "../../apps/api/src/http/operation.js";
import { problemShape } from "../../apps/api/src/wire/problem.js";
import { startWorker } from "../../apps/worker/src/start-worker.js";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import type { Answer, Call } from "../support/api-client.js";
import { until } from "../support/until.js";

const TREE = {
  type: "Itinerary",
  attributes: { name: "ACL trip", days: 2 },
  children: [
    {
      type: "Day",
      attributes: { number: 1, tags: ["arrival", "easy"] },
      metadata: { source: "mail-7" },
      children: [
        { type: "POI", attributes: { name: "Conference registration desk", cost: 0, open: true } },
        { type: "POI", attributes: { name: "Dinner by the river", cost: 42.5 } },
      ],
    },
    { type: "Day", attributes: { number: 2 }, children: [{ type: "POI", attributes: { name: "Grocery shopping" } }] },
  ],
};

let bench: ApiBench;
let memory: string;
/** Operations whose answers were checked. */
const checked = new Set<string>();

/** Calls an operation and checks that its answer has the shape that OpenAPI promises. */
async function expectShape(operation: Operation, path: string, call: Call = {}, status = 200): Promise<Answer> {
  const answer = await bench.client.call(operation.method, path, call);
  expect({ operation: operation.id, status: answer.status, text: answer.text }).toMatchObject({
    operation: operation.id,
    status,
  });
  const schema = operation.responses[status]?.schema;
  if (schema !== undefined) {
    const parsed = schema.safeParse(answer.body);
    expect({ operation: operation.id, issues: parsed.error?.issues ?? [] }).toEqual({
      operation: operation.id,
      issues: [],
    });
  }
  checked.add(operation.id);
  return answer;
}

beforeAll(async () => {
  bench = await openApiBench({
    environment: { ESPALIER_WEBHOOK_NETWORKS: "127.0.0.1/32", ESPALIER_WEBHOOK_HTTP: "allowed" },
    startWorker: (config, jobSettings) => startWorker(config, { jobSettings }),
    models: (config) =>
      openEmbeddingModels(config.embedding, { modelsFolder: config.modelsFolder, now: () => Date.now() }),
  });
  memory = (
    await expectShape(
      OPERATIONS.createMemory,
      "/v1/memories",
      { body: { name: "acl-trip", labels: { user: "u1" } } },
      201,
    )
  ).body.id;
}, 60_000);

afterAll(async () => {
  await bench.close();
});

describe("real answers have the shapes of the document", () => {
  let roots: readonly string[];

  test("an insert that waits, and one that does not", async () => {
    const path = `/v1/memories/${memory}/insert`;
    const waited = await expectShape(OPERATIONS.insert, path, { body: { tree: TREE }, headers: { prefer: "wait=60" } });
    expect(waited.body).toMatchObject({
      ...{ kind: "insert", state: "completed", memory, attempts: 1 },
      result: { revision: 1, inserted: 6 },
    });
    roots = (waited.body.result as { roots: readonly string[] }).roots;
    expect(roots).toHaveLength(1);
    const xml = "<Itinerary name='Weekend'><Day number='1'/></Itinerary>";
    const queued = await expectShape(OPERATIONS.insert, path, { body: { xml } }, 202);
    await until(async () => {
      const job = await bench.client.call("GET", `/v1/jobs/${queued.body.id}`);
      return job.body.state === "completed" ? true : undefined;
    });
  });

  test("queries with evidence, subtrees and a trace, by every scorer that has a model", async () => {
    for (const scorer of ["similarity", "lexical", "hybrid"]) {
      const answer = await expectShape(OPERATIONS.query, `/v1/memories/${memory}/query`, {
        body: {
          ...{ query: '//Day[avg(/POI[node~="conference"])]', scorer, topK: 5 },
          ...{ include: ["evidence", "subtree"], trace: true },
        },
      });
      const rows = answer.body["rows"] as readonly {
        readonly path: string;
        readonly evidence: unknown;
        readonly subtree: unknown;
      }[];
      expect(rows[0]).toMatchObject({
        path: "/Itinerary[1]/Day[1]",
        type: "Day",
        metadata: { source: "mail-7" },
        subtree: { type: "Day", children: [{ type: "POI" }, { type: "POI" }] },
      });
      expect(answer.body["scoring"]).toMatchObject({ scorer });
    }
    await expectShape(
      OPERATIONS.query,
      `/v1/memories/${memory}/query`,
      {
        body: { query: "//Day" },
        headers: { prefer: "wait=0" },
      },
      202,
    );
  });

  test("schema, tree, parse and explain", async () => {
    const schema = await expectShape(OPERATIONS.getSchema, `/v1/memories/${memory}/schema`);
    expect(schema.body["types"]).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: "POI", count: 3 }),
        expect.objectContaining({ type: "Day" }),
      ]),
    );
    const top = await expectShape(OPERATIONS.getTree, `/v1/memories/${memory}/tree?limit=1`);
    expect(top.body.items[0]).toMatchObject({ type: "Itinerary", path: "/Itinerary[1]", children: 2 });
    const next = await expectShape(
      OPERATIONS.getTree,
      `/v1/memories/${memory}/tree?limit=1&cursor=${top.body.nextCursor ?? ""}`,
    );
    expect(next.body.items[0]).toMatchObject({ path: "/Itinerary[2]", children: 1 });
    expect(next.body.nextCursor).toBeUndefined();
    const days = await expectShape(OPERATIONS.getTree, `/v1/memories/${memory}/tree?under=${roots[0] ?? ""}`);
    expect(days.body.items).toEqual([
      expect.objectContaining({ path: "/Itinerary[1]/Day[1]", attributes: { number: 1, tags: ["arrival", "easy"] } }),
      expect.objectContaining({ path: "/Itinerary[1]/Day[2]", children: 1 }),
    ]);
    const all = await expectShape(OPERATIONS.getTree, `/v1/memories/${memory}/tree?depth=3&limit=4`);
    const rest = await bench.client.call(
      "GET",
      `/v1/memories/${memory}/tree?depth=3&cursor=${all.body.nextCursor ?? ""}`,
    );
    expect([...all.body.items, ...rest.body.items].map(({ path }) => path)).toEqual([
      "/Itinerary[1]",
      "/Itinerary[1]/Day[1]",
      "/Itinerary[1]/Day[1]/POI[1]",
      "/Itinerary[1]/Day[1]/POI[2]",
      "/Itinerary[1]/Day[2]",
      "/Itinerary[1]/Day[2]/POI[1]",
      "/Itinerary[2]",
      "/Itinerary[2]/Day[1]",
    ]);
    const body = { query: '//Day [ avg( /POI[ node ~ "x" ] ) ]' };
    const parsed = await expectShape(OPERATIONS.parseQuery, "/v1/query/parse", { body });
    expect(parsed.body["query"]).toBe('//Day[avg(/POI[node~="x"])]');
    await expectShape(OPERATIONS.explainQuery, "/v1/query/explain", { body });
    const explained = await expectShape(OPERATIONS.explainQuery, "/v1/query/explain", { body: { ...body, memory } });
    expect(explained.body["text"]).toEqual(expect.stringContaining("Day"));
    const best = await bench.client.call("POST", "/v1/query/explain", { body: { query: '//Day[node~="x"]', topK: 3 } });
    expect(best.body["text"]).toEqual(expect.stringContaining("(exact)"));
  });

  test("memories, jobs, keys, health, metrics and the document", async () => {
    await expectShape(OPERATIONS.getMemory, `/v1/memories/${memory}`);
    await expectShape(OPERATIONS.listMemories, "/v1/memories?label.user=u1");
    await expectShape(OPERATIONS.patchMemory, `/v1/memories/${memory}`, { body: { templates: { POI: "{name}" } } });
    const jobs = await expectShape(OPERATIONS.listJobs, `/v1/jobs?memory=${memory}&kind=insert`);
    const id = jobs.body.items[0]?.id ?? "";
    await expectShape(OPERATIONS.getJob, `/v1/jobs/${id}`);
    const events = await expectShape(OPERATIONS.followJob, `/v1/jobs/${id}/events`);
    expect(events.text).toContain("event: state");
    const failed = await bench.client.query(memory, { query: "//Nothing" });
    expect(failed.status).toBe(422);
    const [query] = (await bench.client.call("GET", `/v1/jobs?memory=${memory}&kind=query&state=failed`)).body.items;
    await expectShape(OPERATIONS.retryJob, `/v1/jobs/${query?.id ?? ""}/retry`, {}, 202);
    await expectShape(OPERATIONS.replayDeadLetter, `/v1/dead-letters/${query?.id ?? ""}/replay`, {}, 202);
    await expectShape(OPERATIONS.listDeadLetters, "/v1/dead-letters");
    await expectShape(OPERATIONS.replayDeadLetters, "/v1/dead-letters/replay", { body: { memory } }, 202);
    const key = await expectShape(OPERATIONS.createKey, "/v1/admin/keys", { body: { scopes: ["read"] } }, 201);
    await expectShape(OPERATIONS.listKeys, "/v1/admin/keys");
    await expectShape(OPERATIONS.rotateKey, `/v1/admin/keys/${key.body.id}/rotate`, { body: {} }, 201);
    await expectShape(OPERATIONS.deleteKey, `/v1/admin/keys/${key.body.id}`);
    const body = { name: "acme", limits: { nodes: 1_000 } };
    const tenant = await expectShape(OPERATIONS.createTenant, "/v1/admin/tenants", { body }, 201);
    await expectShape(OPERATIONS.listTenants, "/v1/admin/tenants");
    await expectShape(OPERATIONS.getTenant, `/v1/admin/tenants/${tenant.body.id}`);
    await expectShape(OPERATIONS.patchTenant, `/v1/admin/tenants/${tenant.body.id}`, { body: { suspended: true } });
    await expectShape(OPERATIONS.deleteTenant, `/v1/admin/tenants/${tenant.body.id}`);
    await expectShape(OPERATIONS.getDrift, "/v1/admin/drift");
    await expectShape(OPERATIONS.repairDrift, "/v1/admin/drift/repair", {}, 202);
    await expectShape(OPERATIONS.live, "/health/live");
    await expectShape(OPERATIONS.ready, "/health/ready");
    const metrics = await expectShape(OPERATIONS.metrics, "/metrics");
    expect(metrics.text).toContain("espalier_queue_jobs");
    await expectShape(OPERATIONS.openApi, "/openapi.json");
  });

  test("usage, webhooks and their deliveries", async () => {
    await expectShape(OPERATIONS.getUsage, "/v1/admin/usage");
    // Nobody listens at the discard port.
    const body = { url: "http://127.0.0.1:9/hook" };
    const { body: made } = await expectShape(OPERATIONS.createWebhook, "/v1/webhooks", { body }, 201);
    const path = `/v1/webhooks/${made.id}`;
    await expectShape(OPERATIONS.listWebhooks, "/v1/webhooks");
    await expectShape(OPERATIONS.getWebhook, path);
    await expectShape(OPERATIONS.patchWebhook, path, { body: { name: "crm" } });
    await expectShape(OPERATIONS.rotateWebhook, `${path}/rotate`);
    expect((await bench.client.insert(memory, { tree: { type: "Day" } })).status).toBe(200);
    const deliveries = await expectShape(OPERATIONS.listDeliveries, `${path}/deliveries`);
    const again = `${path}/deliveries/${deliveries.body.items[0]?.id ?? ""}/redeliver`;
    await expectShape(OPERATIONS.redeliver, again, {}, 202);
    await expectShape(OPERATIONS.deleteWebhook, path);
  });

  test("cancelling what has ended, and deleting with counts", async () => {
    const other = await bench.client.memory({ structure: "conversation" });
    const messages = [{ speaker: "Ann", text: "Shall we meet at the harbour?", time: "2026-05-02T10:00:00Z" }];
    await bench.client.insert(other, { conversation: "c1", messages });
    const ended = await bench.client.call("GET", `/v1/jobs?memory=${other}&kind=insert`);
    const refused = await bench.client.call("DELETE", `/v1/jobs/${ended.body.items[0]?.id ?? ""}`);
    expect(refused.body.code).toBe("job_finished");
    expect(problemShape.safeParse(refused.body).error).toBeUndefined();
    const deleted = await expectShape(OPERATIONS.deleteMemory, `/v1/memories/${other}`);
    expect(deleted.body["deleted"]).toMatchObject({ nodes: 3, inbox: 1 });
  });
});

describe("what only the worker can refuse comes back as the problem of the waiting request", () => {
  const query = (body: object): Promise<Answer> => bench.client.query(memory, body);

  test("an unknown type or attribute: 422 with a near name, or rows as they come when not validated", async () => {
    const type = await query({ query: "//Dayy" });
    expect(type.status).toBe(422);
    expect(type.body.code).toBe("unknown_type");
    expect(type.text).toContain("Day");
    const attribute = await query({ query: '//Day[numbr="1"]' });
    expect({ status: attribute.status, code: attribute.body.code }).toEqual({ status: 422, code: "unknown_attribute" });
    expect(attribute.text).toContain("number");
    const loose = await query({ query: "//Dayy", validate: false });
    expect({ status: loose.status, rows: loose.body["rows"] }).toEqual({ status: 200, rows: [] });
  });

  test("an impossible relation: rows as they come, and a warning", async () => {
    const answer = await query({ query: "/Itinerary/POI" });
    expect({ status: answer.status, rows: answer.body["rows"] }).toEqual({ status: 200, rows: [] });
    expect(answer.body["warnings"]).toEqual([expect.objectContaining({ code: "impossible_relation" })]);
  });

  test("entailment without a model: 503 that says what to configure, and is not worth a retry", async () => {
    const answer = await query({ query: '//Day[node~="x"]', scorer: "entailment" });
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 503, code: "scorer_unavailable" });
    expect(answer.headers.get("retry-after")).toBeNull();
    expect(problemShape.safeParse(answer.body).error).toBeUndefined();
  });

  test("right-to-left and CJK texts come back as they went in", async () => {
    const texts = ["رحلة إلى المتحف", "京都の静かな寺", "טיול לאורך הנחל"];
    const other = await bench.client.memory();
    const tree = texts.map((name) => ({ type: "场所", attributes: { name } }));
    expect((await bench.client.insert(other, { tree })).status).toBe(200);
    const answer = await bench.client.query(other, { query: "//场所" });
    const rows = answer.body["rows"] as readonly { readonly attributes: { readonly name: string } }[];
    expect(rows.map(({ attributes }) => attributes.name)).toEqual(texts);
  });
});

test("every operation was checked against its shape (a cancellation is, where a job can be held)", () => {
  const rest = ALL_OPERATIONS.map(({ id }) => id).filter((id) => !checked.has(id));
  expect(rest).toEqual(["cancelJob"]);
});
