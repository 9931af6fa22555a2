import type { OwnTenantLimits, Tenant, TenantPatch } from "#memory";

/** The tenant that a patch makes of one. */
export function patchedTenant(tenant: Tenant, patch: TenantPatch): Tenant {
  const { suspendedAt, ...rest } = tenant;
  const suspension = patch.suspendedAt === undefined ? suspendedAt : (patch.suspendedAt ?? undefined);
  return {
    ...rest,
    ...(patch.name !== undefined && { name: patch.name }),
    ...(patch.weight !== undefined && { weight: patch.weight }),
    limits: patchedLimits(tenant.limits, patch.limits ?? {}),
    ...(suspension !== undefined && { suspendedAt: suspension }),
    ...(patch.deletedAt !== undefined && { deletedAt: patch.deletedAt }),
  };
}

function patchedLimits(limits: OwnTenantLimits, changes: NonNullable<TenantPatch["limits"]>): OwnTenantLimits {
  return Object.fromEntries(Object.entries({ ...limits, ...changes }).filter(([, value]) => value !== null));
}
