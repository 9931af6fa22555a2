import { QdrantClient, type Schemas } from "@qdrant/js-client-rest";
import { LIMITS, type MemoryScope } from "#core";
import type { StateRef } from "#scoring";
import { millisecondsOf } from "../metrics/milliseconds-of.js";
import { checkCounts } from "./copy-by-hand.js";

type Point = Schemas["PointStruct"];

/** As the store tells the numbers of a vector: whole ones are written faster, and a cosine knows no length. */
const LARGEST = 1e9;

/**
 * Copies the points of a memory into a collection like the store's, the one whose name begins with the prefix. It is one for all
 * memories, and those are removed from it as from the store's: what a collection was through shows when it is written.
 */
export class QdrantCopy {
  readonly #client: QdrantClient;
  #source: string | undefined;

  constructor(
    private readonly prefix: string,
    private readonly scope: MemoryScope,
  ) {
    this.#client = clientOf();
  }

  /** Writes the points of items, as many in a request as the store; milliseconds. */
  async write(items: readonly StateRef[]): Promise<number> {
    const { source, copy } = await this.#open();
    const points = await this.#read(source, items);
    return millisecondsOf(async () => {
      for (let from = 0; from < points.length; from += LIMITS.storePoints) {
        await this.#client.upsert(copy, { points: points.slice(from, from + LIMITS.storePoints), wait: true });
      }
    });
  }

  async check(): Promise<void> {
    if (this.#source === undefined) return;
    const [own, byHand] = await Promise.all([
      this.#client.count(this.#source, { filter: { must: this.#memory() }, exact: true }),
      this.#client.count(nameOf(this.#source), { filter: { must: this.#memory() }, exact: true }),
    ]);
    checkCounts(new Map([["points", own.count]]), new Map([["points", byHand.count]]));
  }

  async remove(): Promise<void> {
    if (this.#source === undefined) return;
    await this.#client.delete(nameOf(this.#source), { filter: { must: this.#memory() }, wait: true });
  }

  /** The store's collection, which is there once it has points; the copy's, where it is not, is made with the same settings and indexes. */
  async #open(): Promise<{ readonly source: string; readonly copy: string }> {
    if (this.#source !== undefined) return { source: this.#source, copy: nameOf(this.#source) };
    const { collections } = await this.#client.getCollections();
    const source = collections.find(({ name }) => name.startsWith(`${this.prefix}-`))?.name;
    if (source === undefined) throw new Error(`no collection of ${this.prefix} is there`);
    this.#source = source;
    if (collections.every(({ name }) => name !== nameOf(source))) await this.#make(source, nameOf(source));
    return { source, copy: nameOf(source) };
  }

  async #make(source: string, copy: string): Promise<void> {
    const { config, payload_schema: indexes } = await this.#client.getCollection(source);
    const { vectors, sparse_vectors } = config.params;
    await this.#client.createCollection(copy, {
      ...(vectors !== undefined && { vectors }),
      ...(sparse_vectors !== undefined && { sparse_vectors }),
      ...{ hnsw_config: config.hnsw_config, quantization_config: config.quantization_config ?? null },
    });
    for (const [key, index] of Object.entries(indexes)) {
      const { params } = index as { readonly params: Schemas["PayloadFieldSchema"] };
      await this.#client.createPayloadIndex(copy, { field_name: key, field_schema: params, wait: true });
    }
  }

  #memory(): Schemas["FieldCondition"][] {
    const { tenant, memory } = this.scope;
    return [
      { key: "tenant", match: { value: tenant } },
      { key: "memory", match: { value: memory } },
    ];
  }

  /** The store's points of items, in their order. */
  async #read(source: string, items: readonly StateRef[]): Promise<readonly Point[]> {
    const ids = items.map(({ id }) => id);
    const { points } = await this.#client.scroll(source, {
      filter: { must: [...this.#memory(), { key: "node", match: { any: ids } }] },
      ...{ limit: items.length, with_payload: true, with_vector: true },
    });
    const byNode = new Map(points.map((point) => [point.payload?.["node"], pointOf(point)]));
    return ids.map((id) => {
      const point = byNode.get(id);
      if (point === undefined) throw new Error(`The store has no point of ${id}.`);
      return point;
    });
  }
}

/** Removes the collections of all copies. */
export async function dropCopies(prefix: string): Promise<void> {
  const client = clientOf();
  const { collections } = await client.getCollections();
  const own = collections.filter(({ name }) => name.startsWith(nameOf(`${prefix}-`)));
  for (const { name } of own) await client.deleteCollection(name);
}

function clientOf(): QdrantClient {
  const { QDRANT_URL: url = "", QDRANT_API_KEY: apiKey } = process.env;
  return new QdrantClient({ url, checkCompatibility: false, ...(apiKey !== undefined && { apiKey }) });
}

const nameOf = (source: string): string => `by-hand-${source}`;

function pointOf({ id, vector, payload }: Schemas["Record"]): Point {
  const vectors = vector as Readonly<Record<string, number[] | Schemas["SparseVector"]>>;
  const told = Object.entries(vectors).map(([name, values]) => [
    name,
    Array.isArray(values) ? inWholeNumbers(values) : values,
  ]);
  return { id, vector: Object.fromEntries(told) as Point["vector"], payload: payload ?? null };
}

function inWholeNumbers(values: readonly number[]): number[] {
  const factor = LARGEST / Math.max(...values.map(Math.abs));
  return values.map((value) => Math.round(value * factor));
}
