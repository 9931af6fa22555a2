import { Inject, Injectable } from "@nestjs/common";
import { z } from "zod";
import { EspalierError, RETENTION_SECONDS, type TenantLimits } from "#core";
import type { DayUsage } from "#jobs";
import { NO_TENANT, type TenantTotals } from "#memory";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import type { Caller } from "../http/caller.js";
import { invalidRequest } from "../http/invalid-request.js";
import { tenantNotFound } from "../tenants/tenant-not-found.js";
import { decodeCursor, encodeCursor, type Page } from "../http/cursor.js";
import { dayOf, type UsageQuery } from "../wire/usage.js";

/** Days of which the usage is kept, and days that are told when nothing is said. */
const KEPT_DAYS = RETENTION_SECONDS.usage / 86_400;
const TOLD_DAYS = 30;

const beforeDay = z.strictObject({ before: z.int() });

/** What a tenant has, what it may have, and what it used. */
export interface TenantUsage extends Page<DayUsage> {
  readonly tenant: string;
  readonly totals: TenantTotals & { readonly keys: number };
  readonly limits: TenantLimits;
}

/** What tenants used: that of the own tenant for its admins, that of any for operators. */
@Injectable()
export class UsageService {
  constructor(@Inject(API_DEPENDENCIES) private readonly dependencies: ApiDependencies) {}

  /**
   * The days from the last to the first; of days of which nothing is kept nothing is told.
   * @throws EspalierError `forbidden`, `tenant_not_found`, `invalid_request`, `invalid_cursor`, `queue_unavailable`
   */
  async read(caller: Caller, query: UsageQuery): Promise<TenantUsage> {
    const tenant = await this.#tenantOf(caller, query.tenant);
    const { tree, keys, limits, usage, clock } = this.dependencies;
    const [first, last] = this.#range(query);
    const start = query.cursor === undefined ? last : Math.min(last, decodeCursor(beforeDay, query.cursor).before - 1);
    const count = Math.max(0, Math.min(query.limit, start - first + 1));
    const days = Array.from({ length: count }, (_, at) => start - at);
    const [totals, live, own, items] = await Promise.all([
      tree.totals(tenant),
      keys.countLive(tenant, clock.now()),
      limits.of(tenant),
      usage.days(tenant, days),
    ]);
    const end = start - count + 1;
    return {
      tenant,
      totals: { ...totals, keys: live },
      limits: own,
      items,
      ...(count > 0 && end > first && { nextCursor: encodeCursor({ before: end }) }),
    };
  }

  /** The days that are asked for and kept. */
  #range({ from, to }: UsageQuery): readonly [first: number, last: number] {
    const today = dayOf(this.dependencies.clock.now());
    const last = to ?? today;
    const first = from ?? last - TOLD_DAYS + 1;
    if (first > last) throw invalidRequest("query string", "from", "must not be after `to`");
    return [Math.max(first, today - KEPT_DAYS + 1), Math.min(last, today)];
  }

  async #tenantOf(caller: Caller, wanted: string | undefined): Promise<string> {
    if (caller.memoryPrefix !== undefined) {
      throw new EspalierError("forbidden", "A key that is bound to a memory prefix does not see what its tenant used.");
    }
    const tenant = wanted ?? caller.tenant;
    if (tenant === caller.tenant && tenant !== NO_TENANT) return tenant;
    if (!caller.scopes.includes("operator")) {
      throw new EspalierError("forbidden", "Only an operator sees what another tenant used.", {
        details: { scope: "operator" },
      });
    }
    if (tenant === NO_TENANT) throw invalidRequest("query string", "tenant", "is needed: the key belongs to no tenant");
    if ((await this.dependencies.tenants.get(tenant)) !== undefined) return tenant;
    throw tenantNotFound();
  }
}
