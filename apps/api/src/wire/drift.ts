import { z } from "zod";
import { instant } from "./text.js";

const count = z.number().int().min(0);

/** How trees and vectors agree. */
export const driftShape = z
  .discriminatedUnion("stores", [
    z.strictObject({ stores: z.literal("together") }).meta({
      description: "One transaction writes trees and vectors: they cannot differ.",
    }),
    z.strictObject({
      stores: z.literal("apart"),
      points: count.meta({
        description: "Points that differed, were missing or were given up, when their memories were last compared.",
      }),
      memories: count.meta({ description: "Memories with such points." }),
      pendingRows: count.meta({ description: "Texts that wait for a score worker, counted up to 10,000 a tenant." }),
      retriedRows: count.optional().meta({ description: "Texts that had been given up and are tried again." }),
      askedAt: instant.optional().meta({ description: "When a comparison was last asked for." }),
      startedAt: instant.optional().meta({ description: "When the last comparison of all memories began." }),
      finishedAt: instant.optional().meta({ description: "When one last ended." }),
    }),
  ])
  .meta({ id: "Drift" });
