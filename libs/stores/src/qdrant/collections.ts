import { createHash } from "node:crypto";
import type { Schemas } from "@qdrant/js-client-rest";
import { EspalierError, LIMITS } from "#core";
import type { QdrantConnection, QdrantSettings } from "./connection.js";
import { isConflict, isNotFound } from "./errors.js";
import type { PointPayload } from "./points.js";

/** Names of the two vectors of a point. */
export const DENSE = "dense";
export const TERMS = "terms";

/** The collection of one model. */
export interface Collection {
  readonly name: string;
  readonly model: string;
  /** Numbers in a dense vector. */
  readonly dimension: number;
  /** Whether dense vectors are quantized, so that approximate searches are rescored. */
  readonly quantized: boolean;
}

/**
 * Every key of the payload is filtered by. Graphs are built per tenant and memory (`payload_m`); of the other keys the values
 * are too many and too small to be worth graphs of their own.
 */
const INDEXES: Readonly<Record<keyof PointPayload, Schemas["PayloadFieldSchema"]>> = {
  tenant: { type: "keyword", is_tenant: true },
  memory: { type: "keyword" },
  field: { type: "keyword" },
  type: { type: "keyword" },
  path: { type: "keyword", prefix: true, enable_hnsw: false },
  parent: { type: "keyword", enable_hnsw: false },
  node: { type: "keyword", enable_hnsw: false },
  born: { type: "integer", lookup: false, range: true, enable_hnsw: false },
  died: { type: "integer", lookup: false, range: true, enable_hnsw: false },
  head: { type: "bool", enable_hnsw: false },
};

/**
 * One collection per embedding model, made when the first vector comes. Making is safe under concurrency and after a crash
 * in the middle: whoever finds the collection adds the indexes that it lacks.
 */
export class Collections {
  readonly #connection: QdrantConnection;
  readonly #prefix: string;
  readonly #quantization: "none" | "int8";
  /** Searches over fewer candidates than this are exact. */
  readonly exactBelow: number;
  readonly #known = new Map<string, Promise<Collection | undefined>>();
  /** Apart from those: who looks for a collection meanwhile must not be taken for who makes it. */
  readonly #made = new Map<string, Promise<Collection>>();

  constructor(
    connection: QdrantConnection,
    { collectionPrefix = "espalier", quantization = "none", exactBelow = LIMITS.exactBelow }: QdrantSettings,
  ) {
    this.#connection = connection;
    this.#prefix = collectionPrefix;
    this.#quantization = quantization;
    this.exactBelow = exactBelow;
    // A collection that was removed by hand is made again when the next vector comes.
    connection.onNotFound(() => {
      this.#known.clear();
    });
  }

  /** The collection of a model if there is one. Asked of the server until there is; who asks at the same time shares the answer. */
  find(model: string): Promise<Collection | undefined> {
    const known = this.#known.get(model);
    if (known !== undefined) return known;
    const asked = this.#inspect(model);
    this.#known.set(model, asked);
    const forget = (): void => {
      if (this.#known.get(model) === asked) this.#known.delete(model);
    };
    asked.then((found) => {
      if (found === undefined) forget();
    }, forget);
    return asked;
  }

  /**
   * The collection of a model, made if need be.
   * @throws EspalierError `model_dimension` if it holds vectors of another length
   */
  async open(model: string, dimension: number): Promise<Collection> {
    const found = (await this.find(model)) ?? (await this.#make(model, dimension));
    checkDimension(found, dimension);
    return found;
  }

  /** Numbers in a vector of a model's collection, if there is one. Changes nothing. */
  async dimensionOf(model: string): Promise<number | undefined> {
    const info = await this.#info(this.nameOf(model));
    return info && dimensionOf(info.config.params);
  }

  /** Names of all our collections, whatever their models. */
  async names(): Promise<readonly string[]> {
    const { collections } = await this.#connection.send("listing the collections", (client) => client.getCollections());
    return collections.map(({ name }) => name).filter((name) => this.#isOurs(name));
  }

  /** A readable part and a hash of the model's id: `espalier-all_minilm_l6_v2-0123456789abcdef`. */
  nameOf(model: string): string {
    const slug = model
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "_")
      .replace(/^_|_$/g, "")
      .slice(0, SLUG_LENGTH);
    const hash = createHash("sha256").update(model).digest("hex").slice(0, 16);
    return `${this.#prefix}-${slug}-${hash}`;
  }

  #isOurs(name: string): boolean {
    return name.startsWith(`${this.#prefix}-`) && /^[a-z0-9_]*-[0-9a-f]{16}$/.test(name.slice(this.#prefix.length + 1));
  }

  /** Callers at the same time share one request. */
  #make(model: string, dimension: number): Promise<Collection> {
    const making = this.#made.get(model) ?? this.#create(model, dimension);
    this.#made.set(model, making);
    const done = (): void => void this.#made.delete(model);
    making.then((made) => {
      done();
      // Also where an inspection is under way that began before.
      this.#known.set(model, Promise.resolve(made));
    }, done);
    return making;
  }

  async #inspect(model: string): Promise<Collection | undefined> {
    const name = this.nameOf(model);
    const info = await this.#info(name);
    if (info === undefined) return undefined;
    const { config, payload_schema: present } = info;
    const dimension = dimensionOf(config.params);
    if (dimension === undefined) {
      throw new EspalierError(
        "store_unavailable",
        `The collection ${name} in Qdrant is not one of ours: it has no vectors "${DENSE}" compared by cosine, or no terms.`,
        { details: { collection: name } },
      );
    }
    for (const [key, schema] of Object.entries(INDEXES)) {
      if (present[key] !== undefined) continue;
      await this.#connection.send("making an index", (client) =>
        client.createPayloadIndex(name, { field_name: key, field_schema: schema, wait: true }),
      );
    }
    return { name, model, dimension, quantized: (config.quantization_config ?? undefined) !== undefined };
  }

  async #info(name: string): Promise<Schemas["CollectionInfo"] | undefined> {
    try {
      return await this.#connection.send("reading a collection", (client) => client.getCollection(name));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #create(model: string, dimension: number): Promise<Collection> {
    try {
      await this.#connection.send("making a collection", (client) =>
        client.createCollection(this.nameOf(model), {
          vectors: {
            // Where their bytes are in memory, the vectors themselves need not be.
            [DENSE]: { size: dimension, distance: "Cosine", ...(this.#quantization === "int8" && { on_disk: true }) },
          },
          sparse_vectors: { [TERMS]: {} },
          // No graph over all tenants: one for each tenant and memory that is large enough to be searched by it.
          hnsw_config: { m: 0, payload_m: 16, full_scan_threshold: kilobytesOf(this.exactBelow, dimension) },
          ...(this.#quantization === "int8" && {
            quantization_config: { scalar: { type: "int8", quantile: 0.99, always_ram: true } },
          }),
          metadata: { model },
        }),
      );
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
    const made = await this.#inspect(model);
    if (made === undefined) throw new EspalierError("store_unavailable", `The collection of ${model} went away.`);
    return made;
  }
}

/** Kilobytes of so many dense vectors, in the range that Qdrant takes. */
function kilobytesOf(vectors: number, dimension: number): number {
  const kilobytes = Math.ceil((vectors * dimension * Float32Array.BYTES_PER_ELEMENT) / 1_024);
  return Math.min(Math.max(MIN_KILOBYTES, kilobytes), MAX_KILOBYTES);
}

const MIN_KILOBYTES = 10;
/** A petabyte. */
const MAX_KILOBYTES = 2 ** 40;

/** Characters of a model's id that stay readable in a collection's name. */
const SLUG_LENGTH = 48;

/** @throws EspalierError `model_dimension` naming both lengths */
export function checkDimension({ model, dimension }: Collection, received: number): void {
  if (dimension === received) return;
  throw new EspalierError(
    "model_dimension",
    `The vectors of ${model} in Qdrant have ${dimension} numbers, this one ${received}.`,
    { details: { model, expected: dimension, received } },
  );
}

/** Undefined where the vectors are not those that we would make. */
function dimensionOf({ vectors, sparse_vectors: sparse }: Schemas["CollectionParams"]): number | undefined {
  if (vectors === undefined || "size" in vectors || sparse?.[TERMS as never] === undefined) return undefined;
  const dense = vectors[DENSE];
  return dense?.distance === "Cosine" ? dense.size : undefined;
}
