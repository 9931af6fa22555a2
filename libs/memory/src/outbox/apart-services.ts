import type { MemoryServices } from "../services.js";

/** Services whose vectors lie apart from the trees. */
export type ApartServices = MemoryServices & Required<Pick<MemoryServices, "apart">>;

/** Whether trees and vectors lie apart. */
export function liesApart(services: MemoryServices): services is ApartServices {
  return services.apart !== undefined;
}
