import { applyDecorators, Delete, Get, Patch, Post } from "@nestjs/common";
import { RouteConfig } from "@nestjs/platform-fastify";
import type { z } from "zod";
import type { ErrorCode } from "#core";
import type { KeyScope } from "#memory";

/** One answer of an operation. */
export interface OperationResponse {
  readonly description: string;
  /** Absent: no JSON body (a stream or a text). */
  readonly schema?: z.ZodType;
  readonly mediaType?: string;
}

/** One route: what the admission hook enforces and what OpenAPI says, from one place. */
export interface Operation {
  readonly id: string;
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** With `:name` parameters. `:memory` is looked up before the body is read. */
  readonly path: string;
  readonly tag: "memories" | "queries" | "jobs" | "webhooks" | "admin" | "operations";
  readonly summary: string;
  /** The scope that a key needs; absent: open to anyone. */
  readonly scope?: KeyScope;
  /** A scope that does as well. */
  readonly alsoScope?: KeyScope;
  /** Query parameters; absent: none are allowed. */
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Whether `Prefer: wait` is honoured, and with which default. */
  readonly waits?: "read" | "write";
  /** How `Idempotency-Key` is honoured: the same job, or the same answer. Absent: the header is refused. */
  readonly idempotent?: "job" | "answer";
  readonly responses: Readonly<Record<number, OperationResponse>>;
  /** Codes of the registry beyond those that every route can answer. */
  readonly errors: readonly ErrorCode[];
}

/**
 * Whether requests count against the rate of the key's tenant. Those of who runs the deployment do not: it is not locked out
 * by the limits of the tenant that its key acts as.
 */
export function isLimited({ tag, scope }: Operation): boolean {
  return scope !== undefined && scope !== "operator" && tag !== "operations";
}

const METHODS = { GET: Get, POST: Post, PATCH: Patch, DELETE: Delete } as const;

/** What Fastify's route configuration carries. */
export interface OperationConfig {
  readonly operation: Operation;
}

/** Makes a controller's method the handler of an operation. */
export function Handles(operation: Operation): MethodDecorator {
  const config: OperationConfig = { operation };
  return applyDecorators(METHODS[operation.method](operation.path), RouteConfig(config));
}
