import type { MemoryScope } from "#core";
import type { InsertRequest, InsertResult, Memory, QueryRequest, QueryResult, ScorerName, Structure } from "#memory";

/** A query with the defaults of the wire. */
export type EngineQuery = Pick<QueryRequest, "query"> & Partial<QueryRequest>;

/** The main job in this process: stores in a folder of their own, models, growers and readers; no HTTP and no queue. */
export interface Engine {
  /** The scorers that run here: `entailment` only where a model is configured. */
  readonly scorers: readonly ScorerName[];
  createMemory(name: string, structure: Structure, templates?: Readonly<Record<string, string>>): Promise<MemoryScope>;
  insert(scope: MemoryScope, request: InsertRequest): Promise<InsertResult>;
  query(scope: MemoryScope, query: EngineQuery): Promise<QueryResult>;
  memory(scope: MemoryScope): Promise<Memory>;
  /** Closes and removes the stores. */
  close(): Promise<void>;
}
