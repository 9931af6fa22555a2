import type { FastifyReply, FastifyRequest } from "fastify";
import { EspalierError, isId } from "#core";
import type { TreeStore } from "#memory";
import { reaches, type Caller } from "../http/caller.js";
import { invalidRequest } from "../http/invalid-request.js";
import { isLimited, type Operation, type OperationConfig } from "../http/operation.js";
import type { RequestLimits } from "../limits/request-limits.js";
import { KEY_CACHE_MS, type Authenticator } from "./authenticator.js";
import { holdsSecret } from "./secret.js";

/** Names under which people put keys into URLs, where logs and histories keep them. */
const KEY_PARAMETERS = ["key", "api_key", "apikey", "api-key", "access_token", "token", "authorization"];

/**
 * What must hold before a body is read: no key in the URL, a valid key with the scope, a request left in the tenant's
 * bucket, no header that the route would ignore, a memory that the key reaches, and no parameter that the route would ignore.
 */
export class Admission {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly tree: TreeStore,
    private readonly limits: RequestLimits,
  ) {}

  /**
   * @throws EspalierError `route_not_found`, `unauthorized`, `key_expired`, `forbidden`, `rate_limited`,
   * `idempotency_not_supported`, `memory_not_found`, `invalid_request`
   */
  async admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { operation } = request.routeOptions.config as Partial<OperationConfig>;
    if (operation === undefined) return;
    refuseEmptyId(request);
    refuseKeyInUrl(request);
    if (operation.scope !== undefined) request.caller = await this.#caller(request, operation);
    if (request.caller !== undefined && isLimited(operation)) {
      await this.limits.take(request.caller.tenant, reply);
    }
    if (operation.idempotent === undefined && request.headers["idempotency-key"] !== undefined) {
      throw new EspalierError("idempotency_not_supported", `${operation.id} does not honour Idempotency-Key.`);
    }
    if (request.caller !== undefined && operation.path.includes("/:memory")) {
      await this.#findMemory(request, request.caller).catch((error: unknown) => {
        const kept = operation.idempotent === "answer" && request.headers["idempotency-key"] !== undefined;
        if (!kept || !(error instanceof EspalierError) || error.code !== "memory_not_found") throw error;
        // It may be gone because this very request has been answered before.
        request.missing = error;
      });
    }
    checkParameters(request, operation);
  }

  /**
   * A body can take minutes to arrive: whoever sent one that was longer under way than a key is remembered is asked once more,
   * so that a key that was refused meanwhile changes nothing.
   */
  async admitAgain(request: FastifyRequest): Promise<void> {
    if (request.caller === undefined || performance.now() - request.admittedAt < KEY_CACHE_MS) return;
    await this.authenticator.authenticate(request.headers.authorization);
  }

  async #caller(request: FastifyRequest, operation: Operation): Promise<Caller> {
    const key = await this.authenticator.authenticate(request.headers.authorization);
    const { scope, alsoScope } = operation;
    if (scope !== undefined && !key.scopes.some((one) => one === scope || one === alsoScope)) {
      throw new EspalierError("forbidden", `The API key lacks the scope \`${scope}\`.`, { details: { scope } });
    }
    return {
      key: key.id,
      tenant: key.tenant,
      scopes: key.scopes,
      ...(key.memoryPrefix !== undefined && { memoryPrefix: key.memoryPrefix }),
      ...(key.expiresAt !== undefined && { expiresAt: key.expiresAt }),
    };
  }

  async #findMemory(request: FastifyRequest, caller: Caller): Promise<void> {
    const memory = (request.params as { readonly memory: string }).memory;
    if (!isId("mem", memory) || !reaches(caller, memory)) {
      throw new EspalierError("memory_not_found", "There is no such memory.");
    }
    request.memory = await this.tree.getMemory({ tenant: caller.tenant, memory });
  }
}

/** The router takes `/v1/memories/` for a memory whose id is empty. */
function refuseEmptyId(request: FastifyRequest): void {
  if (!Object.values(request.params as Readonly<Record<string, string>>).includes("")) return;
  throw new EspalierError("route_not_found", "There is no such route.");
}

/** Parameters of routes that take none, and those given twice; the others are the schema's. */
function checkParameters(request: FastifyRequest, operation: Operation): void {
  const query = request.query as Readonly<Record<string, unknown>>;
  const [first] = Object.keys(query);
  if (operation.query === undefined && first !== undefined) {
    throw invalidRequest("query string", first, `${operation.id} takes no parameters in the query string`);
  }
  const repeated = Object.keys(query).find((name) => Array.isArray(query[name]));
  if (repeated !== undefined) throw invalidRequest("query string", repeated, "is given more than once");
}

function refuseKeyInUrl(request: FastifyRequest): void {
  const parameters = Object.entries(request.query as Readonly<Record<string, unknown>>);
  const [found] =
    parameters.find(
      ([name, value]) => KEY_PARAMETERS.includes(name.toLowerCase()) || holdsSecret(`${name} ${String(value)}`),
    ) ?? [];
  if (found === undefined) return;
  throw new EspalierError("invalid_request", "API keys go into the Authorization header, never into a URL.", {
    details: { errors: [{ path: found, message: "is not allowed in the URL; revoke the key if it was a real one" }] },
  });
}
