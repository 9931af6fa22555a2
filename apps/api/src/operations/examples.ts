/** What the document shows for an operation. */
interface OperationExamples {
  /** By a name for people; one for each kind of body. */
  readonly bodies?: Readonly<Record<string, unknown>>;
  /** The JSON of the first of its answers. */
  readonly answer?: unknown;
}

const MEMORY = "mem_01m7ywb60aeczb6xzsp5nmrgrn";
const JOB = "job_01m7ywb611eczb6y057g030k1t";
const DAY = "nod_4wk7t9mscpa258vvy8mhddrtwb";
const POI = "nod_7cf696rqqhbq9sc31fm2jc5bxd";
const AT = "2026-05-02T10:00:00.000Z";

const memory = {
  ...{ id: MEMORY, name: "trip", labels: { user: "u1" }, structure: "artifact", templates: {} },
  embeddingModel: "all-MiniLM-L6-v2@8199be6f699a",
  scoring: { scorer: "hybrid", a: 0.4, entailmentTemplate: "This is about {}." },
  ...{ revision: 1, nodes: 7, tokens: 58, bytes: 412, createdAt: AT, updatedAt: AT },
};

const job = {
  ...{ id: JOB, kind: "insert", state: "completed", memory: MEMORY, progress: { done: 7, total: 7 } },
  ...{ createdAt: AT, startedAt: AT, finishedAt: AT, attempts: 1 },
  result: { revision: 1, inserted: 7, roots: ["nod_1vc3kj2qtsaazbnjz3dcfrev4e"] },
};

const { result, ...jobInList } = job;
const queued = { ...jobInList, state: "queued", progress: { done: 0, total: result.inserted }, attempts: 0 };

const TENANT = "ten_01m7ywb4ckeczb6xzq2vd5g0hn";

const tenant = {
  ...{ id: TENANT, name: "acme", state: "active", weight: 2 },
  ...{ limits: { requestsPerSecond: 50, nodes: 1_000_000 }, createdAt: AT },
};

const key = {
  ...{ id: "key_01m7ywb5fjeczb6xzp8dr6t1kb", tenant: TENANT, name: "reader", scopes: ["read"], createdAt: AT },
};

const webhook = {
  ...{ id: "whk_01m7ywb7c0eczb6xzfqk2s90pv", url: "https://example.com/espalier", name: "crm" },
  ...{ events: ["completed", "dead"], kinds: ["insert"], enabled: true, createdAt: AT },
};

const delivery = {
  ...{ id: JOB.replace("job_", "evt_"), job: JOB, event: "completed", state: "delivered", attempts: 1 },
  ...{ createdAt: AT, attemptedAt: AT, deliveredAt: AT, responseStatus: 204 },
};

const tree = {
  type: "Itinerary",
  attributes: { name: "ACL trip", days: 4 },
  children: [
    {
      type: "Day",
      attributes: { title: "Main conference" },
      metadata: { source: "mail" },
      children: [{ type: "POI", attributes: { name: "Opening keynote", tags: ["talk", "plenary"] } }],
    },
  ],
};

const message = { speaker: "Ann", text: "My charger blinks red", time: "2026-05-02T10:00:00Z" };

const QUERY = '//Day[avg(/POI[node~="conference"])]';

const row = {
  ...{ id: DAY, type: "Day", path: "/Itinerary[1]/Day[2]", attributes: { title: "Main conference" }, metadata: {} },
  ...{ score: 0.355005, tokens: 2 },
  evidence: [{ aggregate: 0, id: POI, path: "/Itinerary[1]/Day[2]/POI[1]", score: 0.580026 }],
};

/** Bodies and answers by the id of their operation; each fits its schema. */
export const EXAMPLES: Readonly<Record<string, OperationExamples>> = {
  createMemory: {
    bodies: {
      artifact: { name: "trip", labels: { user: "u1" } },
      conversation: { name: "support", structure: "conversation", templates: { Turn: "{speaker}: {text}" } },
    },
    answer: memory,
  },
  listMemories: { answer: { items: [memory] } },
  getMemory: { answer: memory },
  patchMemory: { bodies: { scoring: { scoring: { scorer: "lexical" } } }, answer: { ...memory, updatedAt: AT } },
  deleteMemory: {
    answer: {
      id: MEMORY,
      deleted: { nodes: 7, vectors: 7, terms: 7, revisions: 1, inbox: 1, blobs: 0, jobs: 0 },
    },
  },
  insert: {
    bodies: {
      tree: { tree },
      "tree below a node": { tree: [{ type: "POI", attributes: { name: "Poster session" } }], under: DAY },
      xml: { xml: '<Day title="Departure"><POI><name>Airport</name></POI></Day>' },
      messages: { conversation: "c1", messages: [{ ...message, session: "s1", metadata: { channel: "web" } }] },
    },
    answer: job,
  },
  query: {
    bodies: { query: { query: QUERY, scorer: "hybrid", topK: 5, include: ["evidence"] } },
    answer: {
      ...{ job: JOB, query: QUERY, revision: 1, truncated: false, warnings: [] },
      scoring: { scorer: "hybrid", model: "all-MiniLM-L6-v2@8199be6f699a", a: 0.4 },
      ...{ rows: [row], tokens: 2, timings: { queuedMs: 1.2, runMs: 8.4 } },
    },
  },
  getSchema: {
    answer: {
      version: 1,
      types: [
        {
          ...{ type: "Day", count: 2, metadata: [] },
          attributes: [{ name: "title", kinds: { string: 2 }, count: 2 }],
        },
      ],
      relations: [{ parent: "Memory", child: "Day", count: 2 }],
    },
  },
  getTree: {
    answer: {
      revision: 1,
      items: [
        {
          ...{ id: DAY, type: "Day", path: "/Itinerary[1]/Day[2]", parent: result.roots[0] },
          ...{ attributes: { title: "Main conference" }, metadata: {}, children: 2 },
        },
      ],
    },
  },
  parseQuery: {
    bodies: { query: { query: "//Day[ cost < 20 ]" } },
    answer: {
      query: "//Day[cost<20]",
      ast: {
        kind: "query",
        steps: [
          {
            ...{ kind: "step", axis: "descendant", type: "Day" },
            predicates: [{ kind: "comparison", name: "cost", operator: "<", value: 20 }],
          },
        ],
      },
      warnings: [],
    },
  },
  explainQuery: {
    bodies: { query: { query: "//Day[2]", memory: MEMORY } },
    answer: {
      query: "//Day[2]",
      text: "cut by weight, then document order, topK 10\n  structure //Day[2] (one store call)\n    root {(root, 1)}\n",
      plan: {
        ...{ operator: "cut", topK: 10 },
        input: { operator: "structure", steps: "//Day[2]", storeCalls: 1, input: { operator: "root" } },
      },
      warnings: [],
    },
  },
  listJobs: { answer: { items: [jobInList] } },
  getJob: { answer: job },
  cancelJob: { answer: { ...jobInList, state: "cancelled" } },
  retryJob: { answer: { ...queued, replayOf: JOB } },
  listDeadLetters: { answer: { items: [{ ...jobInList, state: "dead" }] } },
  replayDeadLetter: { answer: { ...queued, replayOf: JOB } },
  replayDeadLetters: { bodies: { "of one memory": { memory: MEMORY, limit: 100 } }, answer: { items: [queued] } },
  createWebhook: {
    bodies: {
      "inserts that are done or given up": {
        url: webhook.url,
        name: "crm",
        events: ["completed", "dead"],
        kinds: ["insert"],
      },
      "all jobs": { url: webhook.url },
    },
    answer: { ...webhook, secret: "whsec_…" },
  },
  listWebhooks: { answer: { items: [webhook] } },
  getWebhook: { answer: webhook },
  patchWebhook: { bodies: { "enable again": { enabled: true } }, answer: webhook },
  deleteWebhook: { answer: { id: webhook.id, deleted: true } },
  rotateWebhook: { answer: { ...webhook, secret: "whsec_…" } },
  listDeliveries: { answer: { items: [delivery] } },
  redeliver: { answer: { ...delivery, state: "pending", attempts: 0 } },
  createKey: {
    bodies: {
      reader: { name: "reader", scopes: ["read"], expiresAt: "2027-01-01T00:00:00Z" },
      "first key of a tenant": { name: "admin", scopes: ["read", "write", "admin"], tenant: TENANT },
    },
    answer: { ...key, key: "esp_…" },
  },
  listKeys: { answer: { items: [key] } },
  rotateKey: {
    bodies: { "a day of overlap": { overlapSeconds: 86_400 } },
    answer: {
      ...{ ...key, id: "key_01m7ywb5fkeczb6xzq2vd5g0hn", key: "esp_…" },
      replaces: { id: key.id, expiresAt: "2026-05-03T10:00:00.000Z" },
    },
  },
  deleteKey: { answer: { id: key.id, deleted: true } },
  createTenant: {
    bodies: { tenant: { name: "acme", weight: 2, limits: { requestsPerSecond: 50, nodes: 1_000_000 } } },
    answer: tenant,
  },
  listTenants: { answer: { items: [tenant] } },
  getTenant: { answer: tenant },
  deleteTenant: {
    answer: {
      ...{ id: TENANT, state: "deleted" },
      deleted: {
        ...{ memories: 3, nodes: 84, vectors: 84, terms: 84, revisions: 5, inbox: 5, blobs: 0 },
        ...{ jobs: 1, keys: 2, cached: 84, records: 37 },
      },
    },
  },
  patchTenant: {
    bodies: {
      limits: { weight: 4, limits: { nodes: 5_000_000, requestsPerSecond: null } },
      suspend: { suspended: true },
    },
    answer: { ...tenant, weight: 4, limits: { nodes: 5_000_000 } },
  },
  getUsage: {
    answer: {
      tenant: "default",
      totals: { memories: 3, nodes: 840, bytes: 51_200, keys: 2 },
      limits: { requestsPerSecond: 1_000, queuedJobs: 10_000, nodes: 1_000_000 },
      items: [
        {
          day: "2026-05-02",
          jobs: {
            query: { completed: 1_204, failed: 2, dead: 0, cancelled: 1 },
            insert: { completed: 12, failed: 0, dead: 0, cancelled: 0 },
            maintain: { completed: 1, failed: 0, dead: 0, cancelled: 0 },
          },
          ...{ nodes: 84, bytes: 5_120, modelTokens: 9_310 },
        },
      ],
      nextCursor: "eyJiZWZvcmUiOjIwNTc1fQ",
    },
  },
  getDrift: { answer: { stores: "apart", points: 0, memories: 0, pendingRows: 12, finishedAt: AT } },
  repairDrift: { answer: { stores: "apart", points: 0, memories: 0, pendingRows: 12, askedAt: AT } },
  live: { answer: { status: "ok" } },
  ready: { answer: { status: "ready", dependencies: { redis: { state: "up", latencyMs: 0.4 } } } },
};
