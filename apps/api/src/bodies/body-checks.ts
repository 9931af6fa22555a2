import type { Memory } from "#memory";
import { validateBody } from "../http/validate.js";
import { parseInsert } from "../memories/parse-insert.js";
import { checkExplain, checkQuery } from "../queries/check-query.js";
import { replayBody } from "../wire/job.js";
import { newKeyBody, rotateKeyBody } from "../wire/key.js";
import { memoryPatchBody, newMemoryBody } from "../wire/memory.js";
import { parseBody } from "../wire/query.js";
import { newWebhookBody, webhookPatchBody } from "../wire/webhook.js";
import { newTenantBody, tenantPatchBody } from "../wire/tenant.js";

/** What a check may need to know beside the body. */
export interface BodyContext {
  /** Of the memory that the route names. */
  readonly structure?: Memory["structure"];
}

/**
 * What each operation with a body makes of it, by the operation's id: pure functions of the JSON value, so that they run in
 * any thread. They throw the errors that the request answers.
 */
export const BODY_CHECKS = {
  createMemory: (body: unknown) => validateBody(newMemoryBody, body),
  patchMemory: (body: unknown) => validateBody(memoryPatchBody, body),
  insert: (body: unknown, { structure = "artifact" }: BodyContext) => parseInsert(body, { structure }),
  query: checkQuery,
  parseQuery: (body: unknown) => validateBody(parseBody, body),
  explainQuery: checkExplain,
  createKey: (body: unknown) => validateBody(newKeyBody, body),
  rotateKey: (body: unknown) => validateBody(rotateKeyBody, body ?? {}),
  createTenant: (body: unknown) => validateBody(newTenantBody, body),
  patchTenant: (body: unknown) => validateBody(tenantPatchBody, body),
  createWebhook: (body: unknown) => validateBody(newWebhookBody, body),
  patchWebhook: (body: unknown) => validateBody(webhookPatchBody, body),
  replayDeadLetters: (body: unknown) => validateBody(replayBody, body ?? {}),
} as const satisfies Record<string, (body: unknown, context: BodyContext) => unknown>;

/** Operations with a body. */
export type BodyName = keyof typeof BODY_CHECKS;

/** What an operation's check answers. */
export type CheckedBody<Name extends BodyName> = ReturnType<(typeof BODY_CHECKS)[Name]>;
