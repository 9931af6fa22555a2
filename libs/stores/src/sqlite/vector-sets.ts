import { EspalierError } from "#core";
import type { Embedding } from "#scoring";
import type { Connection } from "./connection.js";
import { RowWriter } from "./row-writer.js";

/** The vectors of one field of a memory under one model. */
export interface VectorSet {
  readonly id: number;
  readonly dimension: number;
  /** Vectors of head states. */
  readonly live: number;
}

/** A vector that is to be stored. */
export interface NewVector {
  readonly model: string;
  readonly field: string;
  readonly embedding: Embedding;
}

/** The vector of a state that may have one. */
export interface StateVector {
  readonly vector: NewVector;
  readonly row: number;
  readonly head: boolean;
}

/** A set that vectors are added to. */
interface OpenSet {
  readonly set: VectorSet;
  added: number;
}

export function findVectorSet(
  connection: Connection,
  memory: number,
  of: { readonly model: string; readonly field: string },
): VectorSet | undefined {
  return connection.get<VectorSet>(
    "SELECT id, dimension, live FROM vector_sets WHERE memory = ? AND model = ? AND field = ?",
    [memory, of.model, of.field],
  );
}

/** Refuses a vector of another length than the set's. @throws EspalierError `model_dimension` */
export function checkDimension(model: string, expected: number, received: number): void {
  if (expected === received) return;
  throw new EspalierError(
    "model_dimension",
    `The vectors of ${model} have ${expected} numbers here, this one ${received}.`,
    {
      details: { model, expected, received },
    },
  );
}

/** Writes vectors of one transaction: sets are looked up once; what `finish` writes last are their counters. */
export class VectorWriter {
  readonly #sets = new Map<string, OpenSet>();
  readonly #rows: RowWriter;

  constructor(
    private readonly connection: Connection,
    private readonly memory: number,
  ) {
    this.#rows = new RowWriter(connection, "vectors", ["vector_set", "state", "windowed", "vector"]);
  }

  /** Adds the first vector of a new state. @throws EspalierError `model_dimension` */
  add(of: NewVector, row: number): void {
    const open = this.#open(of);
    this.#insert(open.set, of.embedding, row);
    open.added += 1;
  }

  /** Puts vectors in the place of those that may be there; a state's last one stays. @throws EspalierError `model_dimension` */
  put(vectors: readonly StateVector[]): void {
    for (const [open, ofSet] of Map.groupBy(vectors, ({ vector }) => this.#open(vector))) {
      const byState = new Map(ofSet.map((of) => [of.row, of]));
      const replaced = this.#remove(open.set, [...byState.keys()]);
      for (const { vector, row, head } of byState.values()) {
        this.#insert(open.set, vector.embedding, row);
        if (head && !replaced.has(row)) open.added += 1;
      }
    }
  }

  finish(): void {
    this.#rows.finish();
    for (const { set, added } of this.#sets.values()) {
      this.connection.run("UPDATE vector_sets SET live = live + ? WHERE id = ?", [added, set.id]);
    }
  }

  /** Removes the vectors of states, and answers which states had one. States that are newer than all of the set's have none: O(1). */
  #remove(set: VectorSet, states: readonly number[]): ReadonlySet<number> {
    this.#rows.finish();
    const last = this.connection.get<{ readonly state: number }>(
      "SELECT state FROM vectors INDEXED BY vectors_by_state WHERE vector_set = ? ORDER BY state DESC LIMIT 1",
      [set.id],
    );
    const older = states.filter((state) => last !== undefined && state <= last.state);
    if (older.length === 0) return new Set();
    const removed = this.connection.tuples<readonly [state: number]>(
      `DELETE FROM vectors INDEXED BY vectors_by_state
       WHERE vector_set = ? AND state IN (SELECT value FROM json_each(?)) RETURNING state`,
      [set.id, JSON.stringify(older)],
    );
    return new Set(removed.map(([state]) => state));
  }

  #insert(set: VectorSet, { vector, windowed }: Embedding, row: number): void {
    this.#rows.add(set.id, row, windowed ? 1 : 0, bytesOf(vector));
  }

  #open(of: NewVector): OpenSet {
    const dimension = of.embedding.vector.length;
    const key = JSON.stringify([of.model, of.field]);
    const known = this.#sets.get(key) ?? this.#make(key, of, dimension);
    checkDimension(of.model, known.set.dimension, dimension);
    return known;
  }

  #make(key: string, of: NewVector, dimension: number): OpenSet {
    this.connection.run(
      `INSERT INTO vector_sets (memory, model, field, dimension, live) VALUES (?, ?, ?, ?, 0)
       ON CONFLICT (memory, model, field) DO NOTHING`,
      [this.memory, of.model, of.field, dimension],
    );
    const set = findVectorSet(this.connection, this.memory, of);
    if (set === undefined) throw new EspalierError("internal", "A vector set that was just made is not there.");
    const opened = { set, added: 0 };
    this.#sets.set(key, opened);
    return opened;
  }
}

/** Lowers the counters of the sets that hold vectors of states that end. */
export function countEndedVectors(connection: Connection, memory: number, states: readonly number[]): void {
  connection.run(
    `UPDATE vector_sets SET live = live -
       (SELECT count(*) FROM json_each(?) s CROSS JOIN vectors v ON v.vector_set = vector_sets.id AND v.state = s.value)
     WHERE memory = ?`,
    [JSON.stringify(states), memory],
  );
}

/** A vector as it is stored: 32-bit floats of this machine's byte order, which is sqlite-vec's. */
export function bytesOf(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

/** The vector of stored bytes; copied only where they are not aligned. */
export function vectorOf(bytes: Uint8Array): Float32Array {
  const aligned = bytes.byteOffset % Float32Array.BYTES_PER_ELEMENT === 0 ? bytes : bytes.slice();
  return new Float32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / Float32Array.BYTES_PER_ELEMENT);
}
