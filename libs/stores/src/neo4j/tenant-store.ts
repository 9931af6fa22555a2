import type { OwnTenantLimits, Tenant, TenantPatch, TenantStore } from "#memory";
import { patchedTenant } from "../patched-tenant.js";
import type { Database, Transaction } from "./database.js";

const COLUMNS = `t.id AS id, t.name AS name, t.createdAt AS createdAt, t.weight AS weight, t.limits AS limits,
  t.suspendedAt AS suspendedAt, t.deletedAt AS deletedAt`;

const VALUES = `t.name = $name, t.createdAt = toInteger($createdAt), t.weight = toFloat($weight), t.limits = $limits,
  t.suspendedAt = toInteger($suspendedAt), t.deletedAt = toInteger($deletedAt)`;

/** The statements of tenants. */
export const TENANTS = {
  create: `
MERGE (t:Tenant {id: $id})
ON CREATE SET ${VALUES}
RETURN ${COLUMNS}`,

  get: `
MATCH (t:Tenant {id: $id})
RETURN ${COLUMNS}`,

  /** The first property that is set takes the lock, so that what is read next is what will be replaced. */
  lock: `
MATCH (t:Tenant {id: $id})
SET t.locked = true
REMOVE t.locked
RETURN ${COLUMNS}`,

  write: `
MATCH (t:Tenant {id: $id})
SET ${VALUES}`,

  list: `
MATCH (t:Tenant) WHERE t.id > $after
RETURN ${COLUMNS}
ORDER BY t.id LIMIT toInteger($limit)`,

  listNamed: `
MATCH (t:Tenant) WHERE t.name = $name AND t.id > $after
RETURN ${COLUMNS}
ORDER BY t.name, t.id LIMIT toInteger($limit)`,

  remove: `
MATCH (t:Tenant {id: $id})
DELETE t
RETURN count(*) AS removed`,
} as const;

interface TenantColumns extends Pick<Tenant, "id" | "name" | "createdAt" | "weight"> {
  readonly limits: string;
  readonly suspendedAt: number | null;
  readonly deletedAt: number | null;
}

/** A node a tenant, its limits as JSON: they are read and changed together. */
export class Neo4jTenantStore implements TenantStore {
  constructor(private readonly database: Database) {}

  async create(tenant: Tenant): Promise<Tenant> {
    const [row] = await this.database.write((transaction) =>
      transaction.run<TenantColumns>(TENANTS.create, valuesOf(tenant)),
    );
    return row === undefined ? tenant : tenantOf(row);
  }

  async get(id: string): Promise<Tenant | undefined> {
    const [row] = await this.database.read((transaction) => transaction.run<TenantColumns>(TENANTS.get, { id }));
    return row && tenantOf(row);
  }

  async list({ limit, after = "", name }: Parameters<TenantStore["list"]>[0]): Promise<readonly Tenant[]> {
    const named = (transaction: Transaction) =>
      name === undefined
        ? transaction.run<TenantColumns>(TENANTS.list, { after, limit })
        : transaction.run<TenantColumns>(TENANTS.listNamed, { after, limit, name });
    return (await this.database.read(named)).map(tenantOf);
  }

  patch(id: string, patch: TenantPatch): Promise<Tenant | undefined> {
    return this.database.write(async (transaction) => {
      const [row] = await transaction.run<TenantColumns>(TENANTS.lock, { id });
      if (row === undefined) return undefined;
      const patched = patchedTenant(tenantOf(row), patch);
      await transaction.run(TENANTS.write, valuesOf(patched));
      return patched;
    });
  }

  async remove(id: string): Promise<boolean> {
    const [row] = await this.database.write((transaction) =>
      transaction.run<{ readonly removed: number }>(TENANTS.remove, { id }),
    );
    return (row?.removed ?? 0) > 0;
  }
}

function valuesOf({ limits, suspendedAt, deletedAt, ...tenant }: Tenant): Readonly<Record<string, unknown>> {
  return { ...tenant, limits: JSON.stringify(limits), suspendedAt: suspendedAt ?? null, deletedAt: deletedAt ?? null };
}

function tenantOf({ limits, suspendedAt, deletedAt, ...tenant }: TenantColumns): Tenant {
  return {
    ...tenant,
    limits: JSON.parse(limits) as OwnTenantLimits,
    ...(suspendedAt !== null && { suspendedAt }),
    ...(deletedAt !== null && { deletedAt }),
  };
}
