import type { OwnTenantLimits, Tenant, TenantPatch, TenantStore } from "#memory";
import { patchedTenant } from "../patched-tenant.js";
import { type Connection, limitTo } from "./connection.js";
import type { Database } from "./database.js";

interface TenantRow {
  readonly id: string;
  readonly name: string;
  readonly created_at: number;
  readonly weight: number;
  readonly limits: string;
  readonly suspended_at: number | null;
  readonly deleted_at: number | null;
}

const COLUMNS = "id, name, created_at, weight, limits, suspended_at, deleted_at";

/** A row a tenant, its limits as JSON: they are read and changed together. */
export class SqliteTenantStore implements TenantStore {
  constructor(private readonly database: Database) {}

  create(tenant: Tenant): Promise<Tenant> {
    // eslint-disable-next-line require-yield -- one row
    return this.database.write(function* (connection) {
      const known = findTenant(connection, tenant.id);
      if (known === undefined) writeTenant(connection, tenant);
      return known ?? tenant;
    });
  }

  get(id: string): Promise<Tenant | undefined> {
    return this.database.read((connection) => findTenant(connection, id));
  }

  list({ limit, after = "", name }: Parameters<TenantStore["list"]>[0]): Promise<readonly Tenant[]> {
    const named = name === undefined ? "" : "name = :name AND";
    return this.database.read((connection) =>
      connection
        .all<TenantRow>(`SELECT ${COLUMNS} FROM tenants WHERE ${named} id > :after ORDER BY id ${limitTo(":limit")}`, {
          ...{ after, limit },
          ...(name !== undefined && { name }),
        })
        .map(tenantOf),
    );
  }

  patch(id: string, patch: TenantPatch): Promise<Tenant | undefined> {
    // eslint-disable-next-line require-yield -- one row
    return this.database.write(function* (connection) {
      const known = findTenant(connection, id);
      if (known === undefined) return undefined;
      const patched = patchedTenant(known, patch);
      writeTenant(connection, patched);
      return patched;
    });
  }

  remove(id: string): Promise<boolean> {
    // eslint-disable-next-line require-yield -- one statement
    return this.database.write(function* (connection) {
      return connection.run("DELETE FROM tenants WHERE id = ?", [id]).changes > 0;
    });
  }
}

function findTenant(connection: Connection, id: string): Tenant | undefined {
  const row = connection.get<TenantRow>(`SELECT ${COLUMNS} FROM tenants WHERE id = ?`, [id]);
  return row && tenantOf(row);
}

function writeTenant(connection: Connection, tenant: Tenant): void {
  const { id, name, createdAt, weight, limits, suspendedAt = null, deletedAt = null } = tenant;
  connection.run(`INSERT OR REPLACE INTO tenants (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`, [
    ...[id, name, createdAt, weight, JSON.stringify(limits), suspendedAt, deletedAt],
  ]);
}

function tenantOf(row: TenantRow): Tenant {
  return {
    ...{ id: row.id, name: row.name, createdAt: row.created_at, weight: row.weight },
    limits: JSON.parse(row.limits) as OwnTenantLimits,
    ...(row.suspended_at !== null && { suspendedAt: row.suspended_at }),
    ...(row.deleted_at !== null && { deletedAt: row.deleted_at }),
  };
}
