import { Controller, HttpCode, Param, Query, Req, Res } from "@nestjs/common";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Bodies } from "../bodies/bodies.js";
import { FromCaller, type Caller } from "../http/caller.js";
import { Handles } from "../http/operation.js";
import { OPERATIONS } from "../http/operations.js";
import { validate } from "../http/validate.js";
import { paging } from "../wire/text.js";
import { deliveryListQuery, deliveryToWire, webhookToWire } from "../wire/webhook.js";
import { WebhooksService } from "./webhooks.service.js";

@Controller()
export class WebhooksController {
  constructor(
    private readonly webhooks: WebhooksService,
    private readonly bodies: Bodies,
  ) {}

  @Handles(OPERATIONS.createWebhook)
  async create(
    @FromCaller() caller: Caller,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const body = await this.bodies.check("createWebhook", request);
    const { webhook, secret } = await this.webhooks.create(caller, body, request.once?.effect);
    reply.status(201).header("cache-control", "no-store");
    return { ...webhookToWire(webhook), secret };
  }

  @Handles(OPERATIONS.listWebhooks)
  async list(@FromCaller() caller: Caller, @Query() query: unknown): Promise<unknown> {
    const page = await this.webhooks.list(caller, validate(paging, query, "query string"));
    return { ...page, items: page.items.map(webhookToWire) };
  }

  @Handles(OPERATIONS.getWebhook)
  async get(@FromCaller() caller: Caller, @Param("webhook") id: string): Promise<unknown> {
    return webhookToWire(await this.webhooks.get(caller, id));
  }

  @Handles(OPERATIONS.patchWebhook)
  async patch(
    @FromCaller() caller: Caller,
    @Param("webhook") id: string,
    @Req() request: FastifyRequest,
  ): Promise<unknown> {
    return webhookToWire(await this.webhooks.change(caller, id, await this.bodies.check("patchWebhook", request)));
  }

  @Handles(OPERATIONS.deleteWebhook)
  async delete(@FromCaller() caller: Caller, @Param("webhook") id: string): Promise<unknown> {
    await this.webhooks.remove(caller, id);
    return { id, deleted: true };
  }

  @Handles(OPERATIONS.rotateWebhook)
  @HttpCode(200)
  async rotate(
    @FromCaller() caller: Caller,
    @Param("webhook") id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const { webhook, secret } = await this.webhooks.rotate(caller, id);
    reply.header("cache-control", "no-store");
    return { ...webhookToWire(webhook), secret };
  }

  @Handles(OPERATIONS.listDeliveries)
  async deliveries(
    @FromCaller() caller: Caller,
    @Param("webhook") id: string,
    @Query() query: unknown,
  ): Promise<unknown> {
    const page = await this.webhooks.deliveries(caller, id, validate(deliveryListQuery, query, "query string"));
    return { ...page, items: page.items.map(deliveryToWire) };
  }

  @Handles(OPERATIONS.redeliver)
  @HttpCode(202)
  async redeliver(
    @FromCaller() caller: Caller,
    @Param("webhook") id: string,
    @Param("delivery") delivery: string,
  ): Promise<unknown> {
    return deliveryToWire(await this.webhooks.redeliver(caller, id, delivery));
  }
}
