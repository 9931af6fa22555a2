import { Catch, HttpException, Inject, type ArgumentsHost, type ExceptionFilter } from "@nestjs/common";
import type { FastifyReply, FastifyRequest } from "fastify";
import { EspalierError, toEspalierError, type ErrorCode } from "#core";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import { methodsOf } from "./operations.js";
import { problemHeaders, problemOf } from "./problem.js";

/** What Fastify's own errors mean here. */
const FRAMEWORK_ERRORS: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  400: ["invalid_request", "The request could not be read."],
  413: ["body_too_large", "The body is over the limit of this deployment."],
  414: ["route_not_found", "There is no such route."],
  415: ["unsupported_media_type", "Only application/json is read."],
};

function statusOf(thrown: object): number | undefined {
  if (thrown instanceof HttpException) return thrown.getStatus();
  return "statusCode" in thrown && typeof thrown.statusCode === "number" ? thrown.statusCode : undefined;
}

/** Any throw of the process as an error of the registry. */
function translate(thrown: unknown, request: { readonly method: string; readonly url: string }): EspalierError {
  if (thrown instanceof EspalierError || typeof thrown !== "object" || thrown === null) return toEspalierError(thrown);
  const status = statusOf(thrown);
  if (status === 404) {
    const allow = methodsOf(request.url);
    if (allow.length === 0) return new EspalierError("route_not_found", "There is no such route.");
    const message = `${request.method} is not a method of this route; it has ${allow.join(", ")}.`;
    return new EspalierError("method_not_allowed", message, { details: { allow } });
  }
  const known = FRAMEWORK_ERRORS[status ?? 0];
  return known === undefined ? toEspalierError(thrown) : new EspalierError(known[0], known[1], { cause: thrown });
}

/** Answers a failure as problem+json; what is ours to mend goes to the log with its cause. */
export function answerProblem(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  answerError(translate(thrown, request), request, reply);
}

function answerError(error: EspalierError, request: FastifyRequest, reply: FastifyReply): void {
  if (error.kind.status >= 500) {
    request.log.error({ err: error.cause ?? error, code: error.code, requestId: request.id }, "request failed");
  }
  if (reply.sent) return;
  void reply
    .status(error.kind.status)
    .headers(problemHeaders(error))
    .header("x-request-id", request.id)
    .send(JSON.stringify(problemOf(error, request.id)));
}

/** The limit of the tenant that refused a request. What a job was refused for is told where the job ran. */
function limitOf({ kind, details }: EspalierError): string | undefined {
  const { limit, job } = details;
  return kind.category === "limit" && kind.status === 429 && typeof limit === "string" && job === undefined
    ? limit
    : undefined;
}

/** The one place where throws become answers. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(@Inject(API_DEPENDENCIES) private readonly dependencies: Pick<ApiDependencies, "metrics">) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const error = translate(thrown, request);
    const limit = limitOf(error);
    if (limit !== undefined) this.dependencies.metrics.limitRefused(limit);
    answerError(error, request, http.getResponse<FastifyReply>());
  }
}
