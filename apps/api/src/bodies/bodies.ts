import type { FastifyRequest } from "fastify";
import { SerializedPayload } from "#jobs";
import { BODY_CHECKS, type BodyContext, type BodyName, type CheckedBody } from "./body-checks.js";
import type { BodyThreads } from "./body-threads.js";
import { LargeBody } from "./large-body.js";

/** An insert that passed its check, as far as the route needs it. */
export interface CheckedInsertBody {
  readonly under: string | undefined;
  /** Of the job. */
  readonly payload: unknown;
}

/** Bodies of requests, checked: small ones at once, large ones in a thread, with the same answers. */
export class Bodies {
  constructor(private readonly threads: BodyThreads) {}

  /** @throws EspalierError `malformed_json`, `invalid_request`, and what the operation's check throws; as `BodyThreads.check` */
  async check<Name extends Exclude<BodyName, "insert">>(
    name: Name,
    request: FastifyRequest,
  ): Promise<CheckedBody<Name>> {
    const { body } = request;
    if (!(body instanceof LargeBody)) return BODY_CHECKS[name](body) as CheckedBody<Name>;
    return (await this.#checkLarge(name, body, request)).checked as CheckedBody<Name>;
  }

  /** The same for an insert, whose payload stays the JSON that it is when it is large. */
  async checkInsert(request: FastifyRequest): Promise<CheckedInsertBody> {
    const { body } = request;
    if (!(body instanceof LargeBody)) {
      const payload = BODY_CHECKS.insert(body, contextOf(request));
      return { under: "under" in payload ? payload.under : undefined, payload };
    }
    const { insert } = await this.#checkLarge("insert", body, request);
    return { under: insert?.under, payload: new SerializedPayload(insert?.json ?? new Uint8Array()) };
  }

  async #checkLarge(name: BodyName, { bytes }: LargeBody, request: FastifyRequest) {
    const hashed = request.headers["idempotency-key"] !== undefined;
    const answer = await this.threads.check({ name, bytes, context: contextOf(request), hashed });
    request.bodyHash = answer.hash;
    return answer;
  }
}

function contextOf({ memory }: FastifyRequest): BodyContext {
  return memory === undefined ? {} : { structure: memory.structure };
}
