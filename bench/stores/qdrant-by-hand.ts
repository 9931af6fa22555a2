import { setTimeout as sleep } from "node:timers/promises";
import { QdrantClient, type Schemas } from "@qdrant/js-client-rest";
import type { QueryTermWeights } from "#scoring";
import { sparseQuery } from "#stores";
import type { GrownPoints } from "./grow-points.js";
import type { GrownTree } from "./grow-tree.js";
import type { SearchByHand } from "./store-engine.js";

/** What a hit says of its node. */
const PAYLOAD = ["node", "born", "type", "parent", "path"];
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

  constructor(private readonly prefix: string) {
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
    const memory: Schemas["FieldCondition"][] = [
      { key: "tenant", match: { value: scope.tenant } },
      { key: "memory", match: { value: scope.memory } },
    ];
    const must = [
      ...memory,
      { key: "field", match: { value: "" } },
      { key: "born", range: { lte: revision } },
      { key: "died", range: { gt: revision } },
      { key: "type", match: { value: "Item" } },
    ];
    const ids = await this.#idsOf(name, [...memory, { key: "node", match: { any: named.map(({ id }) => id) } }]);
    const rows = async (query: Schemas["QueryRequest"]): Promise<number> =>
      (await this.#client.query(name, query)).points.length;
    const dense = (vector: Float32Array) => ({ query: [...vector], using: "dense" });
    const sparse = (terms: QueryTermWeights) => ({ query: sparseQuery(terms), using: "terms" });
    const found = { filter: { must }, with_payload: PAYLOAD };
    const byName = { filter: { must: [{ has_id: [...ids] }] }, limit: ids.length, params: { exact: true } };
    return {
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
      cosines: (vector) => rows({ ...dense(vector), ...byName }),
      termWeights: async (terms) => {
        await rows({ ...sparse(terms), ...byName });
        return ids.length;
      },
    };
  }

  /** Removes the collections. */
  async drop(): Promise<void> {
    for (const name of await this.#collections()) await this.#client.deleteCollection(name);
  }

  async #idsOf(name: string, must: Schemas["FieldCondition"][]): Promise<readonly (string | number)[]> {
    const { points } = await this.#client.scroll(name, { filter: { must }, limit: 1_000, with_payload: false });
    return points.map(({ id }) => id);
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
