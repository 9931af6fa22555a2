import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { FastifyAdapter, type NestFastifyApplication } from "@nestjs/platform-fastify";
import type { NestApplicationOptions } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { LIMITS } from "#core";
import { ApiModule } from "../api.module.js";
import { Admission } from "../auth/admit.js";
import { Authenticator } from "../auth/authenticator.js";
import { serveBoards } from "../boards/boards.js";
import { boundArrivingBodies } from "../bodies/arriving-bodies.js";
import type { ApiDependencies } from "../dependencies.js";
import { RequestLimits } from "../limits/request-limits.js";
import { serveDocs } from "../operations/docs-page.js";
import { readJsonBodies } from "./json-body.js";
import { answerOnce } from "./once.js";
import type { OperationConfig } from "./operation.js";
import { PROBLEM_MEDIA_TYPE } from "./problem.js";
import { answerProblem } from "./problem.filter.js";
import { requestIdOf } from "./request-id.js";

/** A request must have arrived within this time: a body of 32 MiB over a slow line, but no connection that is held open. */
const REQUEST_TIMEOUT_MS = 300_000;

/** Bodies and logs are ours; a start that fails throws instead of ending the process. */
const NEST_OPTIONS: Pick<NestApplicationOptions, "bodyParser" | "logger" | "abortOnError"> = {
  bodyParser: false,
  logger: false,
  abortOnError: false,
};

/** The Nest application, not yet listening. */
export async function createServer(dependencies: ApiDependencies): Promise<NestFastifyApplication> {
  const { config, logger } = dependencies;
  const authenticator = new Authenticator(dependencies.keys, dependencies.tenants, dependencies.clock);
  dependencies.news.listen(() => {
    authenticator.forget();
  });
  const adapter = new FastifyAdapter({
    loggerInstance: logger,
    disableRequestLogging: true,
    bodyLimit: config.bodyLimitBytes ?? LIMITS.bodyBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    genReqId: (request: IncomingMessage) => requestIdOf(request),
    requestIdHeader: false,
    // Lines name their request themselves: a logger of its own for each would cost more than its line.
    childLoggerFactory: (parent: FastifyBaseLogger) => parent,
    exposeHeadRoutes: false,
    // Requests on open connections are served while the process drains.
    return503OnClosing: false,
    skipMiddie: true,
    frameworkErrors: answerProblem as never,
    clientErrorHandler: answerBadBytes,
  });
  const instance = adapter.getInstance<FastifyInstance>();
  readJsonBodies(instance);
  admitRequests(instance, new Admission(authenticator, dependencies.tree, new RequestLimits(dependencies)));
  boundArrivingBodies(instance);
  answerOnce(instance, dependencies.requests);
  logRequests(instance, logger);
  await serveDocs(instance);
  await serveBoards(instance, dependencies.queueViews, authenticator);
  const module = ApiModule.with(dependencies, authenticator);
  const application = await NestFactory.create<NestFastifyApplication>(module, adapter, NEST_OPTIONS);
  await application.init();
  return application;
}

function admitRequests(instance: FastifyInstance, admission: Admission): void {
  instance.decorateRequest("caller", undefined);
  instance.decorateRequest("admittedAt", 0);
  instance.decorateRequest("memory", undefined);
  instance.decorateRequest("job", undefined);
  instance.addHook("onRequest", async (request: FastifyRequest, reply: FastifyReply) => {
    // What tenants stored is shown as JSON, and never taken for a page or a script.
    reply.headers({ "x-request-id": request.id, "x-content-type-options": "nosniff" });
    await admission.admit(request, reply);
    request.admittedAt = performance.now();
  });
  instance.addHook("preHandler", (request: FastifyRequest) => admission.admitAgain(request));
}

/** One line a request: ids and figures, never bodies, query strings or keys, so that nothing in it needs to be redacted. */
function logRequests(instance: FastifyInstance, logger: Logger): void {
  const lines = logger.child({}, { redact: [] });
  instance.addHook("onResponse", (request: FastifyRequest, reply: FastifyReply, done) => {
    const { operation } = request.routeOptions.config as Partial<OperationConfig>;
    lines.info(
      {
        requestId: request.id,
        operation: operation?.id,
        method: request.method,
        status: reply.statusCode,
        milliseconds: Math.round(reply.elapsedTime * 1_000) / 1_000,
        ...(request.caller !== undefined && { key: request.caller.key, tenant: request.caller.tenant }),
        ...(request.memory !== undefined && { memory: request.memory.id }),
        ...(request.job !== undefined && { job: request.job }),
      },
      "request",
    );
    done();
  });
}

/** Bytes that are not HTTP have no request to answer: one fixed problem, then the connection ends. */
function answerBadBytes(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = error.code === "HPE_HEADER_OVERFLOW" ? "431 Request Header Fields Too Large" : "400 Bad Request";
  const body = JSON.stringify({
    type: "urn:espalier:error:invalid_request",
    title: "The request does not fit its schema",
    status: Number(status.slice(0, 3)),
    detail: "These bytes are not an HTTP request.",
    code: "invalid_request",
  });
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: ${PROBLEM_MEDIA_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
