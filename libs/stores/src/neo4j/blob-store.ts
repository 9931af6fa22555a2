/**
 * Blobs lie in chunks, so that no property and no transaction grows with them. The chunks of a version are written first,
 * each in a transaction of its own; the one that points the blob at them makes them visible and removes those of the version
 * before. Chunks that were never pointed at go when they expire.
 */
import { randomUUID } from "node:crypto";
import type { BlobStore } from "#memory";
import type { Database } from "./database.js";
import { memoryKey } from "./memory-key.js";

const CHUNK_BYTES = 1024 * 1024;
/** Blobs that one transaction of a sweep removes, and chunks: up to 1 MiB each. */
const SWEPT = 100;
const SWEPT_CHUNKS = 20;
/** Reads of a blob that is replaced again and again while it is read. */
const READS = 5;

/** The statements of blobs. */
export const BLOBS = {
  writeChunk: `
MERGE (c:BlobChunk {blob: $version, part: toInteger($part)})
SET c.bytes = $bytes, c.expiresAt = toInteger($expiresAt), c.memory = $memory`,

  publish: `
MERGE (b:Blob {key: $key})
WITH b, b.version AS before
SET b.tenant = $tenant, b.memory = $memory, b.expiresAt = toInteger($expiresAt), b.version = $version,
  b.chunks = toInteger($chunks)
WITH before WHERE before <> $version
MATCH (c:BlobChunk {blob: before}) WHERE c.part >= 0
DELETE c`,

  read: `
MATCH (b:Blob {key: $key})
OPTIONAL MATCH (c:BlobChunk {blob: b.version}) WHERE c.part >= 0
RETURN b.chunks AS chunks, c.part AS part, c.bytes AS bytes
ORDER BY part`,

  delete: `
MATCH (b:Blob {key: $key})
OPTIONAL MATCH (c:BlobChunk {blob: b.version}) WHERE c.part >= 0
DELETE c
WITH DISTINCT b
DELETE b`,

  /** Chunks of the first `$blobs`. */
  emptyBlobs: `
MATCH (b:Blob) WHERE b.key STARTS WITH $prefix
WITH b ORDER BY b.key LIMIT toInteger($blobs)
MATCH (c:BlobChunk {blob: b.version}) WHERE c.part >= 0
WITH c LIMIT toInteger($limit)
DELETE c
RETURN count(*) AS swept`,

  /** The first blobs, with what is left of their chunks. */
  deleteBlobs: `
MATCH (b:Blob) WHERE b.key STARTS WITH $prefix
WITH b ORDER BY b.key LIMIT toInteger($limit)
OPTIONAL MATCH (c:BlobChunk {blob: b.version}) WHERE c.part >= 0
DELETE c
WITH DISTINCT b
DELETE b
RETURN count(*) AS swept`,

  /** Those of blobs that were never finished. */
  deleteChunks: `
MATCH (c:BlobChunk) WHERE c.memory STARTS WITH $prefix
WITH c LIMIT toInteger($limit)
DELETE c
RETURN count(*) AS swept`,

  sweepBlobs: `
MATCH (b:Blob) WHERE b.expiresAt < toInteger($now)
WITH b LIMIT toInteger($limit)
DELETE b
RETURN count(*) AS swept`,

  sweepChunks: `
MATCH (c:BlobChunk) WHERE c.expiresAt < toInteger($now)
WITH c LIMIT toInteger($limit)
DELETE c
RETURN count(*) AS swept`,
} as const;

interface ChunkColumns {
  /** Of the whole blob. */
  readonly chunks: number;
  readonly part: number | null;
  readonly bytes: Int8Array | null;
}

type Named = Readonly<Record<string, unknown>>;

/** Blobs of payloads and results; those of a memory go with it. */
export class Neo4jBlobStore implements BlobStore {
  constructor(private readonly database: Database) {}

  async put(
    tenant: string,
    key: string,
    bytes: Uint8Array,
    { memory, expiresAt }: { readonly memory?: string; readonly expiresAt: number },
  ): Promise<void> {
    const version = randomUUID();
    const chunks = Math.ceil(bytes.length / CHUNK_BYTES);
    const owner = memory === undefined ? null : memoryKey({ tenant, memory });
    const common = { version, expiresAt, memory: owner };
    for (let part = 0; part < chunks; part += 1) {
      const chunk = Int8Array.from(bytes.subarray(part * CHUNK_BYTES, (part + 1) * CHUNK_BYTES));
      await this.database.write((transaction) => transaction.run(BLOBS.writeChunk, { ...common, part, bytes: chunk }));
    }
    await this.database.write((transaction) =>
      transaction.run(BLOBS.publish, { ...common, key: blobKey(tenant, key), tenant, chunks }),
    );
  }

  async get(tenant: string, key: string): Promise<Uint8Array | undefined> {
    for (let reads = 0; reads < READS; reads += 1) {
      const rows = await this.database.read((transaction) =>
        transaction.run<ChunkColumns>(BLOBS.read, { key: blobKey(tenant, key) }),
      );
      const chunks = rows.flatMap(({ bytes }) => bytes ?? []);
      if (rows.length === 0) return undefined;
      // Fewer: another version took its place between the two reads of the statement.
      if (chunks.length === rows[0]?.chunks) return concat(chunks);
    }
    return undefined;
  }

  async delete(tenant: string, key: string): Promise<void> {
    await this.database.write((transaction) => transaction.run(BLOBS.delete, { key: blobKey(tenant, key) }));
  }

  async sweep(now: number): Promise<number> {
    const swept = await this.#sweep(BLOBS.sweepBlobs, { now, limit: SWEPT });
    await this.#sweep(BLOBS.sweepChunks, { now, limit: SWEPT_CHUNKS });
    return swept;
  }

  async deleteTenant(tenant: string): Promise<number> {
    const prefix = blobKey(tenant, "");
    let deleted = 0;
    let page = SWEPT;
    while (page === SWEPT) {
      await this.#sweep(BLOBS.emptyBlobs, { prefix, blobs: SWEPT, limit: SWEPT_CHUNKS });
      page = await this.#sweepPage(BLOBS.deleteBlobs, { prefix, limit: SWEPT });
      deleted += page;
    }
    await this.#sweep(BLOBS.deleteChunks, { prefix, limit: SWEPT_CHUNKS });
    return deleted;
  }

  async #sweep(statement: string, parameters: { readonly limit: number } & Named): Promise<number> {
    let sum = 0;
    for (;;) {
      const swept = await this.#sweepPage(statement, parameters);
      sum += swept;
      if (swept < parameters.limit) return sum;
    }
  }

  async #sweepPage(statement: string, parameters: Named): Promise<number> {
    const [row] = await this.database.write((transaction) =>
      transaction.run<{ readonly swept: number }>(statement, parameters),
    );
    return row?.swept ?? 0;
  }
}

const blobKey = (tenant: string, key: string): string => `${tenant}/${key}`;

function concat(chunks: readonly Int8Array[]): Uint8Array {
  const whole = new Int8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return new Uint8Array(whole.buffer);
}
