import { EspalierError } from "#core";

/** The error of a tenant that is not there, or no longer. */
export function tenantNotFound(): EspalierError {
  return new EspalierError("tenant_not_found", "There is no such tenant.");
}
