import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from "@jest/globals";
import type { QdrantClient } from "@qdrant/js-client-rest";
import { describeWithQdrant } from "../../../../test/support/qdrant.js";
import { LIMITS, type NodeFilter, PATH_SEPARATOR } from "#core";
import type { ScoredKey } from "#scoring";
import { codeOf, MODEL, SCOPE, unit } from "../contract/fixtures.js";
import type { PointLedger, PointSource } from "../distributed/point-ledger.js";
import { QdrantConnection } from "./connection.js";
import { openQdrant, type QdrantStores } from "./open-qdrant.js";
import { KNOWN_ENDS } from "./standings.js";
import { ledgerOfSources } from "./testing/ledger-of-sources.js";

const NODES = 400;
const BRANCHES = 40;
const READ = { revision: 1, model: MODEL, field: "" };
const EVERYTHING: NodeFilter = { scope: { kind: "descendants", of: [""] } };
const VECTOR = unit(1, 0.5, 0.25);
const TERMS = new Map([["red", 0.5]]);
const A = 0.4;
/** As small against NODES as the real ones are against a large memory. */
const SMALL = { filterContexts: 4, storePoints: 20, storeRows: 60, storeRequestsInFlight: 3 } as const;

interface Request {
  readonly rows: number;
  readonly contexts: number;
}

await describeWithQdrant("Requests of a search in Qdrant", ({ url }) => {
  const sources = Array.from({ length: NODES }, (_, at) => sourceOf(at));
  const ledger = ledgerOfSources(MODEL, sources);
  const everything: Record<"nearest" | "matching" | "both", readonly ScoredKey[]> = {
    nearest: [],
    matching: [],
    both: [],
  };
  let stores: QdrantStores;
  let sent: Request[] = [];
  let inFlight = 0;
  let mostInFlight = 0;

  beforeAll(async () => {
    stores = openQdrant(
      { url, collectionPrefix: `test-${randomUUID().slice(0, 8)}` },
      { ...ledger, ...mutable(ledger) },
    );
    const points = sources.map(({ id, born, field }, at) => ({
      ...{ id, born, field, model: MODEL },
      embedding: { vector: directionOf(at), windowed: false },
    }));
    await stores.vectors.upsert(SCOPE, points);
    // One request of each, which is given all.
    everything.nearest = await nearest(EVERYTHING, NODES);
    everything.matching = await stores.lexical.matches(SCOPE, READ, TERMS, EVERYTHING, { above: 0, limit: NODES });
    everything.both = (await both(EVERYTHING, NODES)) ?? [];
  }, 60_000);
  beforeEach(() => {
    [sent, inFlight, mostInFlight] = [[], 0, 0];
    for (const name of Object.keys(SMALL) as (keyof typeof SMALL)[]) {
      jest.replaceProperty(LIMITS, name, SMALL[name] as never);
    }
    // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its connection
    const send = QdrantConnection.prototype.send;
    jest.spyOn(QdrantConnection.prototype, "send").mockImplementation(async function (
      this: QdrantConnection,
      doing: string,
      request: (client: QdrantClient) => Promise<unknown>,
    ) {
      inFlight += 1;
      mostInFlight = Math.max(mostInFlight, inFlight);
      try {
        return await send.call(this, doing, (client) => request(noted(client, sent)));
      } finally {
        inFlight -= 1;
      }
    });
  });
  afterEach(() => {
    jest.restoreAllMocks();
    changed = {};
  });
  afterAll(async () => {
    await stores.points.purge(SCOPE);
    stores.close();
  });

  const nearest = async (filter: NodeFilter, limit: number): Promise<readonly ScoredKey[]> =>
    (await stores.vectors.topK(SCOPE, READ, VECTOR, filter, { limit, exact: true })).rows;
  const both = async (filter: NodeFilter, limit: number): Promise<readonly ScoredKey[] | undefined> => {
    const condition = { vector: VECTOR, terms: TERMS, matches: NODES, counted: READ.revision, a: A };
    return (await stores.vectors.hybridTopK(SCOPE, READ, condition, filter, { limit, exact: true }))?.rows;
  };
  const areBounded = (): void => {
    expect(sent.length).toBeGreaterThan(0);
    for (const { rows, contexts } of sent) {
      expect(rows).toBeLessThanOrEqual(SMALL.storeRows);
      expect(contexts).toBeLessThanOrEqual(SMALL.filterContexts);
    }
    expect(mostInFlight).toBeLessThanOrEqual(SMALL.storeRequestsInFlight);
  };

  const branches = manyOf("a", BRANCHES);
  const strange = manyOf("z", 7);
  const scopes: readonly (readonly [string, NodeFilter["scope"]])[] = [
    ["few matches", { kind: "descendants", of: [...strange, "a7", "a3"] }],
    ["contexts in others", { kind: "descendants", of: ["a9", "a1", "a1.b41", "a1.b1", "a30", "a9.b9", "a4", "a5"] }],
    ["many contexts", { kind: "descendants", of: branches.slice(5) }],
    ["very many strange ones", { kind: "descendants", of: [...branches.slice(38), ...manyOf("y", 60)] }],
    ["children", { kind: "children", of: [...strange, "nod_a2", "nod_a2", "nod_a8", "nod_a39"] }],
    ["children of many", { kind: "children", of: branches.map((name) => `nod_${name}`) }],
  ];
  test.each(scopes)("are bounded where a filter has more contexts than one names: %s", async (_, scope) => {
    const filter: NodeFilter = { type: "Turn", scope };
    const among = (rows: readonly ScoredKey[]): readonly ScoredKey[] => rows.filter(({ key }) => isOf(filter, key));
    for (const limit of [1, 7, 30, NODES]) {
      expect(await nearest(filter, limit)).toEqual(among(everything.nearest).slice(0, limit));
      expect(await both(filter, limit)).toEqual(among(everything.both).slice(0, limit));
      const matching = await stores.lexical.matches(SCOPE, READ, TERMS, filter, { above: 0, limit });
      expect(matching).toEqual(among(everything.matching).slice(0, limit));
    }
    const all = await stores.lexical.matches(SCOPE, READ, TERMS, filter, { above: 0 });
    expect(all).toEqual(among(everything.matching));
    areBounded();
  });

  test("are bounded where all matches are wanted, or more rows than one answer has", async () => {
    expect(await stores.lexical.matches(SCOPE, READ, TERMS, EVERYTHING, { above: 0 })).toEqual(everything.matching);
    const above = everything.matching[100]!.value;
    expect(await stores.lexical.matches(SCOPE, READ, TERMS, EVERYTHING, { above })).toEqual(
      everything.matching.filter(({ value }) => value > above),
    );
    for (const limit of [50, SMALL.storeRows, 200]) {
      expect(await nearest(EVERYTHING, limit)).toEqual(everything.nearest.slice(0, limit));
      expect(await both(EVERYTHING, limit)).toEqual(everything.both.slice(0, limit));
    }
    areBounded();
  });

  test("are bounded where more states have ended than a request names, and these are the best", async () => {
    const [ended, rest] = [everything.nearest.slice(0, 150), everything.nearest.slice(150)];
    const ids = new Set(ended.map(({ key }) => key.id));
    changed = {
      standing: async (...request) => ({
        ...(await ledger.standing(...request)),
        ended: Array.from({ length: KNOWN_ENDS }, (_, at) => ({ id: `nod_x${at}`, born: 1, field: "", died: 1 })),
      }),
      sources: async (...request) =>
        (await ledger.sources(...request)).map((source) => (ids.has(source.id) ? { ...source, died: 1 } : source)),
    };
    for (const limit of [5, 100]) expect(await nearest(EVERYTHING, limit)).toEqual(rest.slice(0, limit));
    const living = everything.matching.filter(({ key }) => !ids.has(key.id));
    expect(await stores.lexical.matches(SCOPE, READ, TERMS, EVERYTHING, { above: 0 })).toEqual(living);
    areBounded();
  });

  test("end once one of them has failed", async () => {
    let failed = 0;
    const payload = { node: "nod_z", born: 1, type: "Turn", parent: "", path: "z" };
    const client = {
      query: async (_: string, body: { readonly limit: number; readonly filter?: unknown }) => {
        // What is not of the contexts, so that each of their parts is asked for.
        if (contextsOf(body) === 0)
          return { points: Array.from({ length: body.limit }, () => ({ score: 1, payload })) };
        failed += 1;
        throw new Error("it failed");
      },
    } as unknown as QdrantClient;
    // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its connection
    const send = QdrantConnection.prototype.send;
    jest.spyOn(QdrantConnection.prototype, "send").mockImplementation(function (
      this: QdrantConnection,
      doing,
      request,
    ) {
      return doing === "searching" ? request(client) : send.call(this, doing, request as never);
    });
    const filter: NodeFilter = { scope: { kind: "descendants", of: branches } };
    expect(await codeOf(nearest(filter, 5))).toContain("it failed");
    expect(failed).toBeGreaterThan(0);
    expect(failed).toBeLessThanOrEqual(2 * SMALL.storeRequestsInFlight);
  });
});

/** What the ledger says otherwise in a test. */
let changed: Partial<PointLedger> = {};

function mutable(ledger: PointLedger): Pick<PointLedger, "standing" | "sources"> {
  return {
    standing: (...request) => (changed.standing ?? ledger.standing)(...request),
    sources: (...request) => (changed.sources ?? ledger.sources)(...request),
  };
}

/** Notes what searches and scrolls ask for. */
function noted(client: QdrantClient, sent: Request[]): QdrantClient {
  return new Proxy(client, {
    get: (target, name): unknown => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return (collection: string, body: { limit?: number; filter?: unknown }): unknown => {
        if (name === "query" || name === "scroll") sent.push({ rows: body.limit ?? 0, contexts: contextsOf(body) });
        return Reflect.apply(method, target, [collection, body]);
      };
    },
  });
}

function contextsOf({ filter }: { readonly filter?: unknown }): number {
  const { must = [] } = (filter ?? {}) as {
    must?: { should?: unknown[]; key?: string; match?: { any?: unknown[] } }[];
  };
  return must.reduce((sum, { should, key, match }) => {
    return sum + (should?.length ?? (key === "parent" ? (match?.any?.length ?? 0) : 0));
  }, 0);
}

function isOf({ type, scope }: NodeFilter, key: ScoredKey["key"]): boolean {
  if (type !== undefined && key.type !== type) return false;
  if (scope.kind === "children") return scope.of.includes(key.parentId);
  return scope.of.some((path) => key.pathKey.startsWith(`${path}${PATH_SEPARATOR}`));
}

function manyOf(letter: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${letter}${at}`);
}

/** Few words and few directions, so that many nodes are worth the same. */
function sourceOf(at: number): PointSource {
  const branch = `a${at % BRANCHES}`;
  return {
    ...{ id: `nod_${at}`, born: 1, field: "", type: at % 5 === 0 ? "Session" : "Turn" },
    ...{ parentId: `nod_${branch}`, pathKey: `${branch}.b${at}`, depth: 2, text: `red${" sea".repeat(at % 7)}` },
  };
}

function directionOf(at: number): Float32Array {
  return unit(1 + (at % 3), at % 4, at % 11);
}
