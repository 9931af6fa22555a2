import { Body, Controller, Req, Res } from "@nestjs/common";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Memory } from "#memory";
import { FromCaller, TheMemory, type Caller } from "../http/caller.js";
import { Handles } from "../http/operation.js";
import { OPERATIONS } from "../http/operations.js";
import { applyWait } from "../http/prefer.js";
import { validateBody } from "../http/validate.js";
import { answerJob } from "../jobs/outcome.js";
import { Submitter } from "../jobs/submitter.js";
import { parseBody } from "../wire/query.js";
import { checkExplain, checkQuery } from "./check-query.js";
import { QueriesService } from "./queries.service.js";

@Controller()
export class QueriesController {
  constructor(
    private readonly queries: QueriesService,
    private readonly submitter: Submitter,
  ) {}

  @Handles(OPERATIONS.query)
  async query(
    @TheMemory() memory: Memory,
    @Body() body: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const payload = checkQuery(body);
    const record = await this.submitter.submit(
      { kind: "query", tenant: memory.tenant, memory: memory.id, payload },
      applyWait(request, reply, "read"),
    );
    request.job = record.id;
    return answerJob(record, reply, (ended) => ended.result);
  }

  @Handles(OPERATIONS.parseQuery)
  parse(@Body() body: unknown, @Res({ passthrough: true }) reply: FastifyReply): unknown {
    reply.status(200);
    return this.queries.parse(validateBody(parseBody, body).query);
  }

  @Handles(OPERATIONS.explainQuery)
  explain(
    @FromCaller() caller: Caller,
    @Body() body: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    reply.status(200);
    return this.queries.explain(caller, checkExplain(body));
  }
}
