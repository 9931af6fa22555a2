import { z } from "zod";
import { LIMITS } from "#core";
import { fewFields } from "#jobs";
import type { Tenant } from "#memory";
import { instant, pageOf, paging, text } from "./text.js";

/** What a limit may be; larger numbers could not be told apart. */
const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const positive = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

/** A limit, or the word that there is none where the deployment has one. */
const orUnlimited = <Shape extends z.ZodType>(shape: Shape) => z.union([shape, z.literal("unlimited")]);

/** Names and meanings are those of `TenantLimits`. */
const limitShapes = {
  requestsPerSecond: orUnlimited(z.number().min(LIMITS.tenantLeastRate).max(LIMITS.tenantMostRate)).meta({
    description: "Requests that may begin per second, over time and over all API processes.",
  }),
  burst: z
    .int()
    .min(1)
    .max(LIMITS.tenantMostRate)
    .meta({ description: "Requests that may begin at once after a rest." }),
  queuedJobs: orUnlimited(count).meta({ description: "Jobs of one lane that wait for their turn." }),
  queuedBytes: orUnlimited(count).meta({ description: "Bytes of the jobs of one lane that wait for their turn." }),
  inFlight: orUnlimited(positive).meta({ description: "Jobs of one lane that are released or run." }),
  nodes: orUnlimited(count).meta({ description: "Live nodes of all memories." }),
  bytes: orUnlimited(count).meta({ description: "UTF-8 bytes of what these nodes say." }),
  memories: orUnlimited(count).meta({ description: "Memories, with nodes or without." }),
  keys: orUnlimited(count).meta({ description: "API keys that have not ended." }),
  idempotencyKeys: orUnlimited(count).meta({
    description: "Idempotency keys of requests that are remembered at once.",
  }),
};

const limits = z.strictObject(limitShapes).partial().meta({
  id: "TenantLimits",
  description:
    "What the tenant may have at most; what is absent is the deployment's default, `unlimited` that there is no limit.",
});

const weight = z
  .number()
  .min(LIMITS.tenantLeastWeight)
  .max(LIMITS.tenantMostWeight)
  .meta({ description: "Share of the workers, as against 1, while other tenants have work too." });

/** POST /v1/admin/tenants */
export const newTenantBody = z
  .strictObject({
    name: text(LIMITS.tenantNameBytes).meta({ description: "For people; need not be unique." }),
    weight: weight.optional(),
    limits: fewFields(limits).optional(),
  })
  .meta({ id: "NewTenant" });
export type NewTenantBody = z.output<typeof newTenantBody>;

const limitChanges = z
  .strictObject({
    requestsPerSecond: limitShapes.requestsPerSecond.nullable(),
    burst: limitShapes.burst.nullable(),
    queuedJobs: limitShapes.queuedJobs.nullable(),
    queuedBytes: limitShapes.queuedBytes.nullable(),
    inFlight: limitShapes.inFlight.nullable(),
    nodes: limitShapes.nodes.nullable(),
    bytes: limitShapes.bytes.nullable(),
    memories: limitShapes.memories.nullable(),
    keys: limitShapes.keys.nullable(),
    idempotencyKeys: limitShapes.idempotencyKeys.nullable(),
  })
  .partial()
  .meta({ description: "Limits to change; `null` goes back to the deployment's default." });

/** PATCH /v1/admin/tenants/:tenant */
export const tenantPatchBody = z
  .strictObject({
    name: newTenantBody.shape.name.optional(),
    weight: weight.optional(),
    limits: fewFields(limitChanges).optional(),
    suspended: z.boolean().optional().meta({ description: "Whether the tenant's keys are refused." }),
  })
  .refine((value) => Object.keys(value).length > 0, { message: "must change something" })
  .meta({ id: "TenantPatch" });
export type TenantPatchBody = z.output<typeof tenantPatchBody>;

/** A tenant as every answer shows it. */
export const tenantShape = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    state: z.enum(["active", "suspended", "deleting"]),
    weight: z.number(),
    limits,
    createdAt: instant,
  })
  .meta({ id: "Tenant" });

/** GET /v1/admin/tenants */
export const tenantListQuery = paging.extend({ name: z.string().min(1).optional() });

export const tenantPage = pageOf(tenantShape).meta({ id: "TenantPage" });

const rows = z.number().int();

/** DELETE /v1/admin/tenants/:tenant */
export const deletedTenantShape = z
  .strictObject({
    id: z.string(),
    state: z.enum(["deleted", "deleting"]),
    deleted: z
      .strictObject({
        ...{ memories: rows, nodes: rows, vectors: rows, terms: rows, revisions: rows, inbox: rows, blobs: rows },
        jobs: rows.meta({ description: "Jobs that had not ended and were cancelled." }),
        keys: rows.meta({ description: "API keys." }),
        cached: rows.meta({ description: "Vectors and values of the tenant's caches." }),
        records: rows.meta({ description: "Records of jobs, answers, counters and webhooks." }),
      })
      .meta({ description: "What this request removed, by kind." }),
  })
  .meta({ id: "DeletedTenant" });

/** A stored tenant in its wire shape. */
export function tenantToWire(tenant: Tenant): z.input<typeof tenantShape> {
  const { id, name, weight: share, limits: own, createdAt } = tenant;
  return { id, name, state: stateOf(tenant), weight: share, limits: own, createdAt: new Date(createdAt).toISOString() };
}

function stateOf({ suspendedAt, deletedAt }: Tenant): "active" | "suspended" | "deleting" {
  if (deletedAt !== undefined) return "deleting";
  return suspendedAt === undefined ? "active" : "suspended";
}
