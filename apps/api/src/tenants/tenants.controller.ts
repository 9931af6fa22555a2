import { Controller, Param, Query, Req, Res } from "@nestjs/common";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Bodies } from "../bodies/bodies.js";
import { Handles } from "../http/operation.js";
import { OPERATIONS } from "../http/operations.js";
import { validate } from "../http/validate.js";
import { tenantListQuery, tenantToWire } from "../wire/tenant.js";
import { TenantsService } from "./tenants.service.js";

@Controller()
export class TenantsController {
  constructor(
    private readonly tenants: TenantsService,
    private readonly bodies: Bodies,
  ) {}

  @Handles(OPERATIONS.createTenant)
  async create(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<unknown> {
    const body = await this.bodies.check("createTenant", request);
    const tenant = await this.tenants.create(body, request.once?.effect);
    reply.status(201).header("location", `/v1/admin/tenants/${tenant.id}`);
    return tenantToWire(tenant);
  }

  @Handles(OPERATIONS.listTenants)
  async list(@Query() query: unknown): Promise<unknown> {
    const page = await this.tenants.list(validate(tenantListQuery, query, "query string"));
    return { ...page, items: page.items.map(tenantToWire) };
  }

  @Handles(OPERATIONS.getTenant)
  async get(@Param("tenant") id: string): Promise<unknown> {
    return tenantToWire(await this.tenants.get(id));
  }

  @Handles(OPERATIONS.patchTenant)
  async patch(@Param("tenant") id: string, @Req() request: FastifyRequest): Promise<unknown> {
    return tenantToWire(await this.tenants.patch(id, await this.bodies.check("patchTenant", request)));
  }

  @Handles(OPERATIONS.deleteTenant)
  async delete(@Param("tenant") id: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<unknown> {
    const { done, counts } = await this.tenants.delete(id);
    reply.status(done ? 200 : 202);
    return { id, state: done ? "deleted" : "deleting", deleted: counts };
  }
}
