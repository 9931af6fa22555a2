import { Controller, Req, Res } from "@nestjs/common";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Memory } from "#memory";
import { Bodies } from "../bodies/bodies.js";
import { FromCaller, TheMemory, type Caller } from "../http/caller.js";
import { Handles } from "../http/operation.js";
import { OPERATIONS } from "../http/operations.js";
import { applyWait } from "../http/prefer.js";
import { answerJob } from "../jobs/outcome.js";
import { Submitter } from "../jobs/submitter.js";
import { QueriesService } from "./queries.service.js";

@Controller()
export class QueriesController {
  constructor(
    private readonly queries: QueriesService,
    private readonly submitter: Submitter,
    private readonly bodies: Bodies,
  ) {}

  @Handles(OPERATIONS.query)
  async query(
    @TheMemory() memory: Memory,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const payload = await this.bodies.check("query", request);
    const record = await this.submitter.submit(
      { kind: "query", tenant: memory.tenant, memory: memory.id, payload },
      applyWait(request, reply, "read"),
    );
    request.job = record.id;
    return answerJob(record, reply, (ended) => ended.result);
  }

  @Handles(OPERATIONS.parseQuery)
  async parse(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<unknown> {
    reply.status(200);
    return this.queries.parse((await this.bodies.check("parseQuery", request)).query);
  }

  @Handles(OPERATIONS.explainQuery)
  async explain(
    @FromCaller() caller: Caller,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    reply.status(200);
    return this.queries.explain(caller, await this.bodies.check("explainQuery", request));
  }
}
