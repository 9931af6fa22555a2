import { Inject, Injectable } from "@nestjs/common";
import type { z } from "zod";
import { EspalierError, idFromUuid, isId } from "#core";
import type { Delivery, Webhook, WebhookChange, WebhookWish } from "#jobs";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import { reaches, type Caller } from "../http/caller.js";
import { readPage, type Page } from "../http/cursor.js";
import { withoutUndefined } from "../http/without-undefined.js";
import type { paging } from "../wire/text.js";
import type { deliveryListQuery, NewWebhookBody, WebhookPatchBody } from "../wire/webhook.js";

/** A webhook with the secret that is shown once. */
interface WithSecret {
  readonly webhook: Webhook;
  readonly secret: string;
}

/** Webhooks of the caller's own tenant; a caller that is bound to a prefix of memories sees those of such a memory. */
@Injectable()
export class WebhooksService {
  constructor(@Inject(API_DEPENDENCIES) private readonly dependencies: ApiDependencies) {}

  /**
   * `effect`: the UUID under which a repeated request makes it, once.
   * @throws EspalierError `webhook_url_refused`, `memory_not_found`, `forbidden`, `too_many_webhooks`
   */
  async create(caller: Caller, body: NewWebhookBody, effect?: string): Promise<WithSecret> {
    const { webhooks, targets, ids } = this.dependencies;
    await this.#checkMemory(caller, body.memory);
    const { name, memory, events, kinds } = body;
    const url = await targets.check(body.url);
    const wish: WebhookWish = { url, events, kinds, ...withoutUndefined({ name, memory }) };
    return webhooks.create(caller.tenant, effect === undefined ? ids("whk") : idFromUuid("whk", effect), wish);
  }

  async list(caller: Caller, page: z.output<typeof paging>): Promise<Page<Webhook>> {
    const all = await this.dependencies.webhooks.list(caller.tenant);
    return readPage(
      page,
      async ({ limit, after = "~" }) => all.filter(({ id }) => id < after).slice(0, limit),
      (webhook) => isWithin(caller, webhook),
    );
  }

  /** @throws EspalierError `webhook_not_found`, also for one of another tenant or outside the caller's prefix */
  async get(caller: Caller, id: string): Promise<Webhook> {
    const webhook = isId("whk", id) ? await this.dependencies.webhooks.get(caller.tenant, id) : undefined;
    if (webhook === undefined || !isWithin(caller, webhook)) {
      throw new EspalierError("webhook_not_found", "There is no such webhook.");
    }
    return webhook;
  }

  /** @throws EspalierError `webhook_not_found`, and as `create` */
  async change(caller: Caller, id: string, body: WebhookPatchBody): Promise<Webhook> {
    await this.get(caller, id);
    if (body.memory !== undefined) await this.#checkMemory(caller, body.memory ?? undefined);
    const { url, ...rest } = body;
    const known: WebhookChange = withoutUndefined(rest);
    const checked = url === undefined ? known : { ...known, url: await this.dependencies.targets.check(url) };
    return this.dependencies.webhooks.change(caller.tenant, id, checked);
  }

  /** @throws EspalierError `webhook_not_found` */
  async rotate(caller: Caller, id: string): Promise<WithSecret> {
    await this.get(caller, id);
    return this.dependencies.webhooks.rotate(caller.tenant, id);
  }

  /** @throws EspalierError `webhook_not_found` */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.get(caller, id);
    await this.dependencies.webhooks.remove(caller.tenant, id);
  }

  /** @throws EspalierError `webhook_not_found` */
  async deliveries(caller: Caller, id: string, query: z.output<typeof deliveryListQuery>): Promise<Page<Delivery>> {
    await this.get(caller, id);
    const { state } = query;
    return readPage(
      query,
      (page) =>
        this.dependencies.webhooks.deliveries(caller.tenant, id, { ...page, ...(state !== undefined && { state }) }),
      () => true,
    );
  }

  /** @throws EspalierError `webhook_not_found`, `delivery_not_found`, `webhook_disabled` */
  async redeliver(caller: Caller, id: string, delivery: string): Promise<Delivery> {
    await this.get(caller, id);
    return this.dependencies.webhooks.redeliver(caller.tenant, id, delivery);
  }

  async #checkMemory(caller: Caller, memory: string | undefined): Promise<void> {
    if (memory === undefined) {
      if (caller.memoryPrefix === undefined) return;
      throw new EspalierError("forbidden", "A key that is bound to memories makes webhooks of one `memory` only.");
    }
    if (!isId("mem", memory) || !reaches(caller, memory)) {
      throw new EspalierError("memory_not_found", "There is no such memory.");
    }
    await this.dependencies.tree.getMemory({ tenant: caller.tenant, memory });
  }
}

function isWithin(caller: Caller, { memory }: Webhook): boolean {
  return caller.memoryPrefix === undefined || (memory !== undefined && reaches(caller, memory));
}
