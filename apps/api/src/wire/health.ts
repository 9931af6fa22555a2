import { z } from "zod";

/** GET /health/live */
export const liveShape = z.strictObject({ status: z.literal("ok") }).meta({ id: "Live" });

/** GET /health/ready */
export const readyShape = z
  .strictObject({
    status: z.enum(["ready", "unavailable"]),
    dependencies: z.record(z.string(), z.strictObject({ state: z.enum(["up", "down"]), latencyMs: z.number().min(0) })),
  })
  .meta({ id: "Ready" });
export type ReadyShape = z.input<typeof readyShape>;
