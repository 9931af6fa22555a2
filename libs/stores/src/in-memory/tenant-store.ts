import type { Tenant, TenantPatch, TenantStore } from "#memory";
import { patchedTenant } from "../patched-tenant.js";
import type { Tables } from "./tables.js";

export class InMemoryTenantStore implements TenantStore {
  constructor(private readonly tables: Tables) {}

  async create(tenant: Tenant): Promise<Tenant> {
    this.tables.checkOpen();
    const known = this.tables.tenants.get(tenant.id) ?? structuredClone(tenant);
    this.tables.tenants.set(tenant.id, known);
    return known;
  }

  async get(id: string): Promise<Tenant | undefined> {
    this.tables.checkOpen();
    return this.tables.tenants.get(id);
  }

  async list({ limit, after = "", name }: Parameters<TenantStore["list"]>[0]): Promise<readonly Tenant[]> {
    this.tables.checkOpen();
    return [...this.tables.tenants.values()]
      .filter((tenant) => tenant.id > after && (name === undefined || tenant.name === name))
      .sort((left, right) => (left.id < right.id ? -1 : 1))
      .slice(0, limit);
  }

  async patch(id: string, patch: TenantPatch): Promise<Tenant | undefined> {
    this.tables.checkOpen();
    const known = this.tables.tenants.get(id);
    if (known === undefined) return undefined;
    const patched = patchedTenant(known, patch);
    this.tables.tenants.set(id, patched);
    return patched;
  }

  async remove(id: string): Promise<boolean> {
    this.tables.checkOpen();
    return this.tables.tenants.delete(id);
  }
}
