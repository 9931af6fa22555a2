import { Inject, Injectable } from "@nestjs/common";
import { EspalierError, idFromUuid, isId } from "#core";
import { DEFAULT_TENANT, type Tenant, type TenantDeletion } from "#memory";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import { readPage, type Page } from "../http/cursor.js";
import { withoutUndefined } from "../http/without-undefined.js";
import type { NewTenantBody, TenantPatchBody } from "../wire/tenant.js";
import { tenantNotFound } from "./tenant-not-found.js";

export interface TenantListQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly name?: string | undefined;
}

/** Weight of a tenant of which nothing else is said. */
const WEIGHT = 1;

/** Who the deployment serves. Only operators come here. */
@Injectable()
export class TenantsService {
  constructor(@Inject(API_DEPENDENCIES) private readonly dependencies: ApiDependencies) {}

  /** `effect`: the UUID under which a repeated request makes it, once. */
  async create(body: NewTenantBody, effect?: string): Promise<Tenant> {
    const { tenants, ids, clock } = this.dependencies;
    const tenant = await tenants.create({
      id: effect === undefined ? ids("ten") : idFromUuid("ten", effect),
      name: body.name,
      createdAt: clock.now(),
      weight: body.weight ?? WEIGHT,
      limits: withoutUndefined(body.limits ?? {}),
    });
    await this.#apply(tenant);
    return tenant;
  }

  list({ name, ...page }: TenantListQuery): Promise<Page<Tenant>> {
    return readPage(
      page,
      (query) => this.dependencies.tenants.list({ ...query, ...(name !== undefined && { name }) }),
      () => true,
    );
  }

  /** @throws EspalierError `tenant_not_found` */
  async get(id: string): Promise<Tenant> {
    const tenant = isTenantId(id) ? await this.dependencies.tenants.get(id) : undefined;
    if (tenant === undefined) throw tenantNotFound();
    return tenant;
  }

  /** @throws EspalierError `tenant_not_found` also while it is being deleted, `tenant_protected` */
  async patch(id: string, { suspended, limits, ...rest }: TenantPatchBody): Promise<Tenant> {
    const { tenants, clock, news } = this.dependencies;
    const known = await this.get(id);
    if (known.deletedAt !== undefined) throw tenantNotFound();
    if (suspended === true && id === DEFAULT_TENANT) throw tenantProtected("suspended");
    const patched = await tenants.patch(id, {
      ...withoutUndefined(rest),
      ...(limits !== undefined && { limits: withoutUndefined(limits) }),
      ...(suspended !== undefined && { suspendedAt: suspended ? (known.suspendedAt ?? clock.now()) : null }),
    });
    if (patched === undefined) throw tenantNotFound();
    await news.tell();
    await this.#apply(patched);
    return patched;
  }

  /**
   * Deletes a tenant with everything that is its own. What one request has no time for, or what a process that dies leaves,
   * a worker finishes.
   * @throws EspalierError `tenant_not_found`, `tenant_protected`, `queue_unavailable`
   */
  async delete(id: string): Promise<TenantDeletion> {
    const { tenants, clock, news, eraseTenant } = this.dependencies;
    await this.get(id);
    if (id === DEFAULT_TENANT) throw tenantProtected("deleted");
    await tenants.patch(id, { deletedAt: clock.now() });
    await news.tell();
    const deletion = await eraseTenant(id);
    await news.tell();
    return deletion;
  }

  /** What the queues know of a tenant; a Redis that is away learns it when an API process starts. */
  async #apply(tenant: Tenant): Promise<void> {
    await this.dependencies.tenantJobs.setWeight(tenant.id, tenant.weight);
  }
}

function isTenantId(id: string): boolean {
  return id === DEFAULT_TENANT || isId("ten", id);
}

function tenantProtected(what: "suspended" | "deleted"): EspalierError {
  const message = `The tenant \`${DEFAULT_TENANT}\` cannot be ${what}: the deployment's first key acts as it.`;
  return new EspalierError("tenant_protected", message);
}
