import { EspalierError, type MemoryScope } from "#core";

/** The error of work under a model that the memory has left meanwhile: on the memory as it is now it can be done again. */
export function leftModel({ memory }: MemoryScope, model: string): EspalierError {
  return new EspalierError("revision_conflict", `The memory ${memory} has left the model ${model}.`, {
    details: { memory, model },
  });
}
