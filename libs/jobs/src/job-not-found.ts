import { EspalierError } from "#core";

/** There is no such job of the tenant, or its time is over. */
export function jobNotFound(id: string): EspalierError {
  return new EspalierError("job_not_found", `There is no job ${id}.`);
}
