import { z } from "zod";
import { LIMITS } from "#core";
import { atMost, END_STATES, JOB_KINDS, type Delivery, type Webhook } from "#jobs";
import { instant, pageOf, paging, text } from "./text.js";

/** Some of a few names, without repeats. */
const someOf = <const Names extends readonly [string, ...string[]]>(names: Names) =>
  atMost(
    names.length,
    { message: `at most ${names.length} of them` },
    z
      .array(z.enum(names))
      .min(1)
      .refine((value) => new Set(value).size === value.length, { message: "must not repeat" }),
  );

/** Its form and where it leads are checked behind the schema, with a code of their own. */
const url = z
  .string()
  .min(1)
  .meta({ format: "uri", maxLength: LIMITS.webhookUrlLength, description: "https, of a public host." });
const events = someOf(END_STATES).meta({ description: "States of jobs that are told." });
const kinds = someOf(JOB_KINDS).meta({ description: "Kinds of jobs that are told of." });
const memory = z.string().min(1).max(128).meta({ description: "Only jobs of this memory." });

/** POST /v1/webhooks */
export const newWebhookBody = z
  .strictObject({
    url,
    name: text(256).optional(),
    events: events.default([...END_STATES]),
    kinds: kinds.default([...JOB_KINDS]),
    memory: memory.optional(),
  })
  .meta({ id: "NewWebhook" });
export type NewWebhookBody = z.output<typeof newWebhookBody>;

/** PATCH /v1/webhooks/:webhook: what is absent stays, `null` takes away. */
export const webhookPatchBody = z
  .strictObject({
    url: url.optional(),
    name: text(256).nullable().optional(),
    events: events.optional(),
    kinds: kinds.optional(),
    memory: memory.nullable().optional(),
    enabled: z.boolean().optional(),
  })
  .meta({ id: "WebhookPatch" });
export type WebhookPatchBody = z.output<typeof webhookPatchBody>;

/** A webhook without its secret. */
export const webhookShape = z
  .strictObject({
    id: z.string(),
    url: z.string(),
    name: z.string().optional(),
    events: z.array(z.enum(END_STATES)),
    kinds: z.array(z.enum(JOB_KINDS)),
    memory: z.string().optional(),
    enabled: z.boolean(),
    disabled: z
      .strictObject({ reason: z.enum(["asked", "failing", "gone", "backlog"]), at: instant })
      .optional()
      .meta({
        description:
          "Why it gets nothing: somebody asked for it, it failed for days, it answered 410, or too many deliveries waited.",
      }),
    failingSince: instant.optional().meta({ description: "Since when every request has failed." }),
    lastDeliveredAt: instant.optional(),
    createdAt: instant,
  })
  .meta({ id: "Webhook" });

/** A new webhook, or one with a new secret: the only time that it is told. */
export const webhookWithSecretShape = webhookShape
  .extend({ secret: z.string().meta({ description: "Verifies deliveries. It is shown once." }) })
  .meta({ id: "WebhookWithSecret" });

export const webhookPage = pageOf(webhookShape).meta({ id: "WebhookPage" });

/** DELETE /v1/webhooks/:webhook */
export const deletedWebhookShape = z
  .strictObject({ id: z.string(), deleted: z.literal(true) })
  .meta({ id: "DeletedWebhook" });

const deliveryState = z.enum(["pending", "delivered", "dead"]);

/** GET /v1/webhooks/:webhook/deliveries */
export const deliveryListQuery = paging.extend({ state: deliveryState.optional() });

export const deliveryShape = z
  .strictObject({
    id: z.string().meta({ description: "What the receiver gets as `webhook-id`, the same at every try." }),
    job: z.string(),
    event: z.enum(END_STATES),
    state: deliveryState.meta({ description: "`dead`: its tries are spent, or the webhook is disabled." }),
    attempts: z.number().int(),
    createdAt: instant.meta({ description: "When the job ended." }),
    attemptedAt: instant.optional(),
    nextAttemptAt: instant.optional().meta({ description: "At the earliest, of a pending one." }),
    deliveredAt: instant.optional(),
    responseStatus: z.number().int().optional().meta({ description: "Of the last answer." }),
    error: z.string().optional().meta({ description: "Why the last try failed." }),
  })
  .meta({ id: "Delivery" });

export const deliveryPage = pageOf(deliveryShape).meta({ id: "DeliveryPage" });

const at = (time: number): string => new Date(time).toISOString();

/** A webhook in its wire shape. */
export function webhookToWire(webhook: Webhook): z.input<typeof webhookShape> {
  const { id, url: target, name, events: told, kinds: of, memory: only, disabled } = webhook;
  return {
    ...{ id, url: target, events: [...told], kinds: [...of], enabled: disabled === undefined },
    ...(name !== undefined && { name }),
    ...(only !== undefined && { memory: only }),
    ...(disabled !== undefined && { disabled: { reason: disabled.reason, at: at(disabled.at) } }),
    ...(webhook.failingSince !== undefined && { failingSince: at(webhook.failingSince) }),
    ...(webhook.deliveredAt !== undefined && { lastDeliveredAt: at(webhook.deliveredAt) }),
    createdAt: at(webhook.createdAt),
  };
}

/** A delivery in its wire shape. */
export function deliveryToWire(delivery: Delivery): z.input<typeof deliveryShape> {
  const { id, job, event, state, attempts } = delivery;
  return {
    ...{ id, job, event, state, attempts, createdAt: at(delivery.createdAt) },
    ...(delivery.attemptedAt !== undefined && { attemptedAt: at(delivery.attemptedAt) }),
    ...(delivery.nextAt !== undefined && { nextAttemptAt: at(delivery.nextAt) }),
    ...(delivery.deliveredAt !== undefined && { deliveredAt: at(delivery.deliveredAt) }),
    ...(delivery.status !== undefined && { responseStatus: delivery.status }),
    ...(delivery.error !== undefined && { error: delivery.error }),
  };
}
