import { Controller, Headers, Inject, Param, Query, Req, Res } from "@nestjs/common";
import type { FastifyReply, FastifyRequest } from "fastify";
import { EspalierError, LIMITS } from "#core";
import type { JobRecord } from "#jobs";
import { Authenticator } from "../auth/authenticator.js";
import { Bodies } from "../bodies/bodies.js";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import { FromCaller, type Caller } from "../http/caller.js";
import { Handles } from "../http/operation.js";
import { OPERATIONS } from "../http/operations.js";
import { validate } from "../http/validate.js";
import { deadLetterListQuery, jobListQuery, jobToWire } from "../wire/job.js";
import { streamEvents } from "./event-stream.js";
import { JobsService } from "./jobs.service.js";
import { jobPath } from "./outcome.js";
import { Places } from "./places.js";

@Controller()
export class JobsController {
  readonly #streams = new Places(LIMITS.eventStreams, "too_many_streams");

  constructor(
    private readonly jobs: JobsService,
    private readonly bodies: Bodies,
    private readonly authenticator: Authenticator,
    @Inject(API_DEPENDENCIES) private readonly dependencies: ApiDependencies,
  ) {}

  @Handles(OPERATIONS.listJobs)
  async list(@FromCaller() caller: Caller, @Query() query: unknown): Promise<unknown> {
    const page = await this.jobs.list(caller, validate(jobListQuery, query, "query string"));
    return { ...page, items: page.items.map(jobToWire) };
  }

  @Handles(OPERATIONS.getJob)
  async get(@FromCaller() caller: Caller, @Param("job") id: string): Promise<unknown> {
    return jobToWire(await this.jobs.get(caller, id));
  }

  @Handles(OPERATIONS.cancelJob)
  async cancel(@FromCaller() caller: Caller, @Param("job") id: string): Promise<unknown> {
    return jobToWire(await this.jobs.cancel(caller, id));
  }

  @Handles(OPERATIONS.retryJob)
  async retry(
    @FromCaller() caller: Caller,
    @Param("job") id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    return toFollow(await this.jobs.replay(caller, id), reply);
  }

  @Handles(OPERATIONS.listDeadLetters)
  async listDeadLetters(@FromCaller() caller: Caller, @Query() query: unknown): Promise<unknown> {
    const page = await this.jobs.deadLetters(caller, validate(deadLetterListQuery, query, "query string"));
    return { ...page, items: page.items.map(jobToWire) };
  }

  @Handles(OPERATIONS.replayDeadLetters)
  async replayDeadLetters(
    @FromCaller() caller: Caller,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const replayed = await this.jobs.replayAll(caller, await this.bodies.check("replayDeadLetters", request));
    reply.status(202);
    return { items: replayed.map(jobToWire) };
  }

  @Handles(OPERATIONS.replayDeadLetter)
  async replayDeadLetter(
    @FromCaller() caller: Caller,
    @Param("job") id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    return toFollow(await this.jobs.replay(caller, id), reply);
  }

  @Handles(OPERATIONS.followJob)
  async follow(
    @FromCaller() caller: Caller,
    @Param("job") id: string,
    @Headers("last-event-id") after: string | undefined,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.jobs.get(caller, id);
    if (after !== undefined && !/^\d{1,18}-\d{1,18}$/.test(after)) {
      throw new EspalierError("invalid_request", "Last-Event-ID is not an id of this stream.");
    }
    const leave = this.#streams.take(caller.tenant);
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, this.dependencies.stopping]);
    reply.hijack();
    try {
      await streamEvents({
        response: reply.raw,
        headers: { "x-request-id": request.id },
        events: this.dependencies.jobs.events(caller.tenant, id, { ...(after !== undefined && { after }), signal }),
        isRefused: () => this.authenticator.refuses(request.headers.authorization),
        abort,
      });
    } finally {
      leave();
    }
  }
}

/** A job that goes on, or has ended: `Location` says where it is. */
function toFollow(record: JobRecord, reply: FastifyReply): unknown {
  reply.status(202).header("location", jobPath(record.id));
  return jobToWire(record);
}
