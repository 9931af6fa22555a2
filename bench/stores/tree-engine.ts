import type { MemoryScope } from "#core";
import type { TreeStore } from "#memory";

/** A query by hand of what a read asks for, in the engine's own language. */
export interface RawQuery {
  readonly cypher: string;
  readonly sql: string;
  /** Beside `memory`; numbers and texts, or ids of contexts with their paths. */
  readonly parameters?: Readonly<Record<string, string | number | readonly RawContext[]>>;
}

export interface RawContext {
  readonly id: string;
  readonly pathKey: string;
}

/** A tree store and the engine below it. */
export interface TreeEngine {
  readonly name: string;
  readonly tree: TreeStore;
  /** Rows of a query that is sent to the engine's own driver, over a connection that is open. */
  raw(scope: MemoryScope, query: RawQuery): Promise<number>;
  close(): Promise<void>;
}
