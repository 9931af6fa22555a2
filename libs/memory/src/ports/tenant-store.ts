import type { OwnTenantLimits } from "#core";

export type { OwnTenantLimits } from "#core";

/** The tenant that exists from the first start: the first key acts as it. */
export const DEFAULT_TENANT = "default";

/** Where keys lie that belong to no tenant: those of scope `operator` alone. No tenant has this id. */
export const NO_TENANT = "operator";

/** Whoever the deployment serves: an organisation, or a customer of it. Times are milliseconds since the epoch. */
export interface Tenant {
  /** TypeID `ten_…`, or `default`. */
  readonly id: string;
  /** For people; not unique. */
  readonly name: string;
  readonly createdAt: number;
  /** Share of the workers while others have work too; over 0. */
  readonly weight: number;
  readonly limits: OwnTenantLimits;
  /** Since when its keys are refused. */
  readonly suspendedAt?: number;
  /** Since when it is being deleted: its keys are refused, and what is left of it goes. */
  readonly deletedAt?: number;
}

/** Changes of a tenant; absent means unchanged, `null` takes away. */
export interface TenantPatch {
  readonly name?: string;
  readonly weight?: number;
  readonly limits?: { readonly [Name in keyof OwnTenantLimits]?: OwnTenantLimits[Name] | null };
  readonly suspendedAt?: number | null;
  readonly deletedAt?: number;
}

/** Who there is. Errors: `store_unavailable`. */
export interface TenantStore {
  /** Answers the tenant of that id as it is stored: one that exists already stays as it is. */
  create(tenant: Tenant): Promise<Tenant>;
  get(id: string): Promise<Tenant | undefined>;
  /** By id, which is `default` and then the order of creation; `after` is the last id of the page before. */
  list(query: { readonly limit: number; readonly after?: string; readonly name?: string }): Promise<readonly Tenant[]>;
  /** The tenant as it is then; undefined if there is none. */
  patch(id: string, patch: TenantPatch): Promise<Tenant | undefined>;
  /** The record alone, not what belongs to the tenant. False if there is none. */
  remove(id: string): Promise<boolean>;
}
