import { Controller, Inject, Res } from "@nestjs/common";
import type { FastifyReply } from "fastify";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import { Handles } from "../http/operation.js";
import { OPERATIONS } from "../http/operations.js";
import { sharedHealthCheck } from "./health.js";
import { openApiDocument } from "./open-api.js";

/** What people and machines who run the service ask. */
@Controller()
export class OperationsController {
  readonly #document = JSON.stringify(openApiDocument());

  readonly #health: ReturnType<typeof sharedHealthCheck>;

  constructor(@Inject(API_DEPENDENCIES) private readonly dependencies: ApiDependencies) {
    this.#health = sharedHealthCheck(dependencies.health);
  }

  @Handles(OPERATIONS.live)
  live(): unknown {
    return { status: "ok" };
  }

  @Handles(OPERATIONS.ready)
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<unknown> {
    const health = await this.#health();
    if (health.status !== "ready") reply.status(503).header("retry-after", "2");
    return health;
  }

  @Handles(OPERATIONS.metrics)
  async metrics(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    reply.header("content-type", this.dependencies.metrics.contentType);
    return this.dependencies.metrics.metrics();
  }

  @Handles(OPERATIONS.openApi)
  openApi(@Res({ passthrough: true }) reply: FastifyReply): string {
    reply.header("content-type", "application/json; charset=utf-8");
    return this.#document;
  }
}
