import { setTimeout as sleep } from "node:timers/promises";
import { QdrantClient, type Schemas } from "@qdrant/js-client-rest";
import type { Driver } from "neo4j-driver";
import type { LexicalStatistics, QueryTermWeights } from "#scoring";
import { pointId, sparseQuery } from "#stores";
import type { GrownPoints } from "./grow-points.js";
import type { GrownTree } from "./grow-tree.js";
import type { SearchByHand } from "./store-engine.js";

/** What a hit says of its node. */
const PAYLOAD = ["node", "born", "type", "parent", "path"];
const STATISTICS = `MATCH (f:Terms {memory: $memory, field: ''}) RETURN null AS term, f.documents AS documents
  UNION ALL UNWIND $terms AS term MATCH (t:Term {memory: $memory, field: '', term: term}) RETURN t.term AS term, t.documents AS documents`;
/** Hits of either search that a hybrid one by hand puts together. */
const HYBRID_HITS = 100;
/** Breadth of a search by the index: the store's. */
const BREADTH = 128;
/** Milliseconds in which graphs of a hundred thousand points are made on few cores. */
const SETTLE_MS = 600_000;
const LOOK_MS = 500;

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

  /** Waits until the graphs are made. */
  async settled(): Promise<boolean> {
    const name = await this.#collection();
    const deadline = performance.now() + SETTLE_MS;
    while (performance.now() < deadline) {
      if ((await this.#client.getCollection(name)).status === "green") return true;
      await sleep(LOOK_MS);
    }
    return false;
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
    const rows = async (query: Schemas["QueryRequest"]): Promise<number> =>
      (await this.#client.query(name, query)).points.length;
    const dense = (vector: Float32Array) => ({ query: [...vector], using: "dense" });
    const sparse = (terms: QueryTermWeights) => ({ query: sparseQuery(terms), using: "terms" });
    const found = { filter: { must }, with_payload: PAYLOAD };
    // Points have no ids but UUIDs: whoever asks for nodes has to name them.
    const byName = (): Schemas["QueryRequest"] => ({
      filter: { must: [{ has_id: named.map((state) => pointId(scope, "", state)) }] },
      ...{ limit: named.length, params: { exact: true } },
    });
    return {
      statistics: (terms) => this.#statistics(`${scope.tenant}/${scope.memory}`, terms),
      similarity: (vector, { limit, exact }) =>
        rows({ ...dense(vector), ...found, limit, params: exact ? { exact } : { hnsw_ef: BREADTH } }),
      lexical: (terms, limit) => rows({ ...sparse(terms), ...found, limit }),
      hybrid: ({ vector, terms }, { a, limit }) =>
        rows({
          prefetch: [dense(vector), sparse(terms)].map((one) => ({ ...one, filter: { must }, limit: HYBRID_HITS })),
          query: {
            formula: { sum: [{ mult: [a, "$score[0]"] }, { mult: [1 - a, "$score[1]"] }] },
            defaults: { "$score[0]": 0, "$score[1]": 0 },
          },
          ...{ limit, with_payload: PAYLOAD },
        }),
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
