import { Controller, Param, Query, Req, Res } from "@nestjs/common";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Bodies } from "../bodies/bodies.js";
import { FromCaller, type Caller } from "../http/caller.js";
import { Handles } from "../http/operation.js";
import { OPERATIONS } from "../http/operations.js";
import { validate } from "../http/validate.js";
import { keyListQuery, keyToWire } from "../wire/key.js";
import { KeysService } from "./keys.service.js";

@Controller()
export class KeysController {
  constructor(
    private readonly keys: KeysService,
    private readonly bodies: Bodies,
  ) {}

  @Handles(OPERATIONS.createKey)
  async create(
    @FromCaller() caller: Caller,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { key, secret } = await this.keys.create(
      caller,
      await this.bodies.check("createKey", request),
      request.once?.effect,
    );
    reply.status(201).header("cache-control", "no-store");
    return { ...keyToWire(key), key: secret };
  }

  @Handles(OPERATIONS.listKeys)
  async list(@FromCaller() caller: Caller, @Query() query: unknown): Promise<unknown> {
    const page = await this.keys.list(caller, validate(keyListQuery, query, "query string"));
    return { ...page, items: page.items.map(keyToWire) };
  }

  @Handles(OPERATIONS.rotateKey)
  async rotate(
    @FromCaller() caller: Caller,
    @Param("key") id: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const body = await this.bodies.check("rotateKey", request);
    const { key, secret, replaced } = await this.keys.rotate(caller, id, { ...body, effect: request.once?.effect });
    reply.status(201).header("cache-control", "no-store");
    const replaces = { id: replaced.id, expiresAt: new Date(replaced.expiresAt).toISOString() };
    return { ...keyToWire(key), key: secret, replaces };
  }

  @Handles(OPERATIONS.deleteKey)
  async delete(@FromCaller() caller: Caller, @Param("key") id: string): Promise<unknown> {
    await this.keys.delete(caller, id);
    return { id, deleted: true };
  }
}
