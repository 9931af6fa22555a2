import { Controller, Inject, Query, Req, Res } from "@nestjs/common";
import type { FastifyReply, FastifyRequest } from "fastify";
import { checkQuota, LEAST_ROOM, type Memory } from "#memory";
import { Bodies } from "../bodies/bodies.js";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import { FromCaller, TheMemory, type Caller } from "../http/caller.js";
import { idempotencyOf } from "../http/idempotency.js";
import { Handles } from "../http/operation.js";
import { OPERATIONS } from "../http/operations.js";
import { applyWait } from "../http/prefer.js";
import { validate } from "../http/validate.js";
import { answerJob, jobPath } from "../jobs/outcome.js";
import { Submitter } from "../jobs/submitter.js";
import { jobToWire } from "../wire/job.js";
import { memoryToWire } from "../wire/memory.js";
import { treeQuery } from "../wire/tree.js";
import { parseMemoryList } from "./memory-list-query.js";
import { MemoriesService } from "./memories.service.js";
import { TreeService } from "./tree.service.js";

@Controller()
export class MemoriesController {
  constructor(
    private readonly memories: MemoriesService,
    private readonly tree: TreeService,
    private readonly submitter: Submitter,
    private readonly bodies: Bodies,
    @Inject(API_DEPENDENCIES) private readonly dependencies: ApiDependencies,
  ) {}

  @Handles(OPERATIONS.createMemory)
  async create(
    @FromCaller() caller: Caller,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const memory = await this.memories.create(
      caller,
      await this.bodies.check("createMemory", request),
      request.once?.effect,
    );
    reply.status(201).header("location", `/v1/memories/${memory.id}`);
    return memoryToWire(memory);
  }

  @Handles(OPERATIONS.listMemories)
  async list(@FromCaller() caller: Caller, @Query() query: unknown): Promise<unknown> {
    const page = await this.memories.list(caller, parseMemoryList(query));
    return { ...page, items: page.items.map(memoryToWire) };
  }

  @Handles(OPERATIONS.getMemory)
  get(@TheMemory() memory: Memory): unknown {
    return memoryToWire(memory);
  }

  @Handles(OPERATIONS.patchMemory)
  async patch(@TheMemory() memory: Memory, @Req() request: FastifyRequest): Promise<unknown> {
    const patched = await this.memories.patch(memory, await this.bodies.check("patchMemory", request));
    return { ...memoryToWire(patched.memory), ...(patched.job !== undefined && { job: patched.job.id }) };
  }

  @Handles(OPERATIONS.deleteMemory)
  async delete(@TheMemory() memory: Memory): Promise<unknown> {
    return { id: memory.id, deleted: await this.memories.delete(memory) };
  }

  @Handles(OPERATIONS.insert)
  async insert(
    @TheMemory() memory: Memory,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const { under, payload } = await this.bodies.checkInsert(request);
    if (under !== undefined) await this.tree.requireNode(memory, under, memory.revision);
    const idempotency = idempotencyOf(request);
    const record = await this.submitter.submit(
      {
        ...{ kind: "insert", tenant: memory.tenant, memory: memory.id, payload },
        check: () => checkQuota(this.dependencies, memory.tenant, LEAST_ROOM),
        ...(idempotency !== undefined && { idempotency }),
      },
      applyWait(request, reply, "write"),
    );
    request.job = record.id;
    reply.header("location", jobPath(record.id));
    return answerJob(record, reply, jobToWire);
  }

  @Handles(OPERATIONS.getSchema)
  schema(@TheMemory() memory: Memory): Promise<unknown> {
    return this.dependencies.tree.schema({ tenant: memory.tenant, memory: memory.id });
  }

  @Handles(OPERATIONS.getTree)
  page(@TheMemory() memory: Memory, @Query() query: unknown): Promise<unknown> {
    return this.tree.page(memory, validate(treeQuery, query, "query string"));
  }
}
