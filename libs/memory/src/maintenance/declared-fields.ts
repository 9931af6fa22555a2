import type { Memory, MemorySchema } from "../memory.js";

/** A field that is embedded ahead of queries, with the number of nodes that have it. */
export interface DeclaredField {
  readonly field: string;
  readonly count: number;
}

/** The attribute fields that a structure declares: an artifact's string attributes; a conversation has none. */
export function declaredFields(memory: Pick<Memory, "structure">, schema: MemorySchema): readonly DeclaredField[] {
  if (memory.structure !== "artifact") return [];
  const counts = new Map<string, number>();
  for (const { attributes } of schema.types) {
    for (const { name, kinds } of attributes) {
      if (kinds.string !== undefined && kinds.string > 0) counts.set(name, (counts.get(name) ?? 0) + kinds.string);
    }
  }
  return Array.from(counts, ([field, count]) => ({ field, count }));
}
