import { EspalierError, type MemoryScope } from "#core";

/** The key by which every node of the graph names its memory. Tenants have no slash in their ids. */
export const memoryKey = ({ tenant, memory }: MemoryScope): string => `${tenant}/${memory}`;

/** The error of a memory that is not there, or another tenant's. */
export function memoryNotFound({ memory }: MemoryScope): EspalierError {
  return new EspalierError("memory_not_found", `No memory ${memory}.`, { details: { memory } });
}
