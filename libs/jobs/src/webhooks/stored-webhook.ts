import { z } from "zod";
import type { JobKind } from "../types.js";
import { END_STATES, type Delivery, type EndState, type Webhook } from "./types.js";

/** A webhook as its JSON is stored. Secrets are sealed; the newest is the first. */
export interface StoredWebhook extends Omit<Webhook, "id" | "failingSince" | "deliveredAt"> {
  readonly secrets: readonly { readonly sealed: string; readonly until?: number }[];
}

const stored = z.object({
  url: z.string(),
  name: z.string().optional(),
  events: z.array(z.enum(END_STATES)),
  kinds: z.array(z.string()) as unknown as z.ZodType<JobKind[]>,
  memory: z.string().optional(),
  createdAt: z.number(),
  disabled: z.object({ reason: z.enum(["asked", "failing", "gone", "backlog"]), at: z.number() }).optional(),
  secrets: z.array(z.object({ sealed: z.string(), until: z.number().optional() })),
});

/** Reads what `JSON.stringify` or a script wrote. */
export function readStored(text: string): StoredWebhook {
  return stored.parse(JSON.parse(text)) as StoredWebhook;
}

/** A webhook as it is shown. */
export function shownWebhook(id: string, stored: StoredWebhook, health: Readonly<Record<string, string>>): Webhook {
  const { url, name, events, kinds, memory, createdAt, disabled } = stored;
  return {
    ...{ id, url, events, kinds, createdAt },
    ...(name !== undefined && { name }),
    ...(memory !== undefined && { memory }),
    ...(disabled !== undefined && { disabled }),
    ...times(health, ["failingSince", "deliveredAt"]),
  };
}

/** A delivery from its hash. */
export function deliveryOf(hash: Readonly<Record<string, string>>): Delivery {
  return {
    id: hash["event"] ?? "",
    job: hash["job"] ?? "",
    event: hash["jobState"] as EndState,
    state: hash["state"] as Delivery["state"],
    attempts: Number(hash["attempts"] ?? 0),
    createdAt: Number(hash["createdAt"]),
    ...times(hash, ["attemptedAt", "nextAt", "deliveredAt", "status"]),
    ...(hash["error"] !== undefined && { error: hash["error"] }),
  };
}

function times<Name extends string>(
  hash: Readonly<Record<string, string>>,
  names: readonly Name[],
): Partial<Record<Name, number>> {
  const known = names.filter((name) => hash[name] !== undefined);
  return Object.fromEntries(known.map((name) => [name, Number(hash[name])])) as Partial<Record<Name, number>>;
}
