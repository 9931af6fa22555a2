import { createParamDecorator, type ExecutionContext } from "@nestjs/common";
import type { FastifyRequest } from "fastify";
import { EspalierError } from "#core";
import type { KeyScope, Memory } from "#memory";

/** Who asks: what the request's API key stands for. */
export interface Caller {
  readonly key: string;
  readonly tenant: string;
  readonly scopes: readonly KeyScope[];
  /** Only memories whose id begins so. */
  readonly memoryPrefix?: string;
  /** When the key ends, in milliseconds since 1970. */
  readonly expiresAt?: number;
}

/** Whether the caller's key reaches a memory of its tenant. */
export function reaches(caller: Caller, memory: string): boolean {
  return caller.memoryPrefix === undefined || memory.startsWith(caller.memoryPrefix);
}

declare module "fastify" {
  interface FastifyRequest {
    /** Set by the admission hook on routes that need a key. */
    caller: Caller | undefined;
    /** When it was let in; milliseconds of `performance.now()`. */
    admittedAt: number;
    /** Set by the admission hook on routes of one memory. */
    memory: Memory | undefined;
    /** The job that the request made or asked for, for the log. */
    job: string | undefined;
  }
}

function admitted<Value>(value: Value | undefined, name: string): Value {
  if (value === undefined) throw new EspalierError("internal", `The route has no ${name}.`);
  return value;
}

/** The caller of the request. */
export const FromCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  return admitted(context.switchToHttp().getRequest<FastifyRequest>().caller, "caller");
});

/** The memory that the route names. */
export const TheMemory = createParamDecorator((_: unknown, context: ExecutionContext): Memory => {
  return admitted(context.switchToHttp().getRequest<FastifyRequest>().memory, "memory");
});
