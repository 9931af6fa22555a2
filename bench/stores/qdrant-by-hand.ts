import { setTimeout as sleep } from "node:timers/promises";
import { QdrantClient, type Schemas } from "@qdrant/js-client-rest";
import type { Driver } from "neo4j-driver";
import { mean } from "simple-statistics";
import type { LexicalStatistics, QueryTermWeights } from "#scoring";
import { pointId, sparseQuery } from "#stores";
import type { GrownPoints } from "./grow-points.js";
import type { GrownTree } from "./grow-tree.js";
import type { HybridQuery, HybridSearch, RankedNode, SearchByHand } from "./store-engine.js";

/** What a hit says of its node. */
const PAYLOAD = ["node", "born", "type", "parent", "path"];
const STATISTICS = `MATCH (f:Terms {memory: $memory, field: ''}) RETURN null AS term, f.documents AS documents
  UNION ALL UNWIND $terms AS term MATCH (t:Term {memory: $memory, field: '', term: term}) RETURN t.term AS term, t.documents AS documents`;
/** Hits of either search that a hybrid one by hand puts together: the first that find enough of the rows, or the last. */
const HYBRID_HITS = [100, 300, 1_000, 3_000, 10_000, 30_000] as const;
/** Of the rows, what an approximate search has to find. */
const RECALL = 0.98;
/** More than values of 32 bits differ by. */
const TOLERANCE = 1e-5;
/** Breadth of a search by the index: the store's. */
const BREADTH = 128;
/** Milliseconds in which graphs of a hundred thousand points are made on few cores. */
const SETTLE_MS = 600_000;
const LOOK_MS = 500;

/** How many of the rows were found; another node that is worth as much as the last is as good. */
function recallOf(points: readonly Schemas["ScoredPoint"][], right: readonly RankedNode[]): number {
  if (right.length === 0) return 1;
  const ids = new Set(right.map(({ id }) => id));
  const least = (right.at(-1)?.value ?? 0) - TOLERANCE;
  return (
    points.filter(({ payload, score }) => ids.has(String(payload?.["node"])) || score >= least).length / right.length
  );
}

/** The collections of a benchmark on the Qdrant of the environment, as a user of its client has them. */
export class QdrantByHand {
  readonly #client: QdrantClient;

  /** @param driver of the Neo4j that has the terms' frequencies */
  constructor(
    private readonly prefix: string,
    private readonly driver: Driver,
  ) {
    const { QDRANT_URL: url = "", QDRANT_API_KEY: apiKey } = process.env;
    this.#client = new QdrantClient({
      ...{ url, checkCompatibility: false, timeout: 60_000 },
      // As the store: compressed answers come late.
      headers: { "accept-encoding": "identity", ...(apiKey !== undefined && { "api-key": apiKey }) },
    });
  }

  /** Waits until the graphs are made and what was deleted is gone, in the collections of copies, too. */
  async settled(): Promise<boolean> {
    const deadline = performance.now() + SETTLE_MS;
    const { collections } = await this.#client.getCollections();
    for (const { name } of collections.filter((one) => one.name.includes(`${this.prefix}-`))) {
      while ((await this.#client.getCollection(name)).status !== "green") {
        if (performance.now() > deadline) return false;
        await sleep(LOOK_MS);
      }
    }
    return true;
  }

  async search({ scope, revision }: GrownTree, { named }: GrownPoints): Promise<SearchByHand> {
    const name = await this.#collection();
    const must: Schemas["FieldCondition"][] = [
      { key: "tenant", match: { value: scope.tenant } },
      { key: "memory", match: { value: scope.memory } },
      { key: "field", match: { value: "" } },
      { key: "born", range: { lte: revision } },
      { key: "died", range: { gt: revision } },
      { key: "type", match: { value: "Item" } },
    ];
    const ask = async (query: Schemas["QueryRequest"]): Promise<readonly Schemas["ScoredPoint"][]> =>
      (await this.#client.query(name, query)).points;
    const rows = async (query: Schemas["QueryRequest"]): Promise<number> => (await ask(query)).length;
    const dense = (vector: Float32Array) => ({ query: [...vector], using: "dense" });
    const sparse = (terms: QueryTermWeights) => ({ query: sparseQuery(terms), using: "terms" });
    const found = { filter: { must }, with_payload: PAYLOAD };
    // Points have no ids but UUIDs: whoever asks for nodes has to name them.
    const byName = (): Schemas["QueryRequest"] => ({
      filter: { must: [{ has_id: named.map((state) => pointId(scope, "", state)) }] },
      ...{ limit: named.length, params: { exact: true } },
    });
    let hybridHits: number = HYBRID_HITS[0];
    const byBoth = ({ vector, terms }: HybridQuery, { a, limit }: HybridSearch): Schemas["QueryRequest"] => ({
      // A cosine below 0 counts as 0.
      prefetch: [{ ...dense(vector), score_threshold: 0 }, sparse(terms)].map((one) => ({
        ...{ ...one, filter: { must }, limit: hybridHits },
      })),
      query: {
        formula: { sum: [{ mult: [a, "$score[0]"] }, { mult: [1 - a, "$score[1]"] }] },
        defaults: { "$score[0]": 0, "$score[1]": 0 },
      },
      ...{ limit, with_payload: PAYLOAD },
    });
    return {
      statistics: (terms) => this.#statistics(`${scope.tenant}/${scope.memory}`, terms),
      similarity: (vector, { limit, exact }) =>
        rows({ ...dense(vector), ...found, limit, params: exact ? { exact } : { hnsw_ef: BREADTH } }),
      lexical: (terms, limit) => rows({ ...sparse(terms), ...found, limit }),
      hybrid: (query, search) => rows(byBoth(query, search)),
      broadenHybrid: async (queries, search, right) => {
        const recalls: string[] = [];
        for (const hits of HYBRID_HITS) {
          hybridHits = hits;
          const found = await Promise.all(queries.map(async (query) => ask(byBoth(query, search))));
          const recall = mean(found.map((points, at) => recallOf(points, right[at] ?? [])));
          recalls.push(`${hits} hits of either side: ${recall.toFixed(3)}`);
          if (recall >= RECALL) break;
        }
        return `recall by hand, ${recalls.join(", ")}`;
      },
      cosines: (vector) => rows({ ...dense(vector), ...byName() }),
      termWeights: async (terms) => {
        await rows({ ...sparse(terms), ...byName() });
        return named.length;
      },
    };
  }

  /** Removes the collections. */
  async drop(): Promise<void> {
    for (const name of await this.#collections()) await this.#client.deleteCollection(name);
  }

  async #statistics(memory: string, terms: readonly string[]): Promise<LexicalStatistics> {
    const session = this.driver.session();
    try {
      const { records } = await session.executeRead((transaction) => transaction.run(STATISTICS, { memory, terms }));
      const rows = records.map((record) => record.toObject() as { term: string | null; documents: number });
      return {
        documents: rows.find(({ term }) => term === null)?.documents ?? 0,
        frequencies: new Map(rows.flatMap(({ term, documents }) => (term === null ? [] : [[term, documents]]))),
      };
    } finally {
      await session.close();
    }
  }

  async #collection(): Promise<string> {
    const [name] = await this.#collections();
    if (name === undefined) throw new Error(`no collection of ${this.prefix} is there`);
    return name;
  }

  async #collections(): Promise<readonly string[]> {
    const { collections } = await this.#client.getCollections();
    return collections.flatMap(({ name }) => (name.startsWith(`${this.prefix}-`) ? name : []));
  }
}
