import type { z } from "zod";
import { insertPayload } from "#jobs";

/** POST /v1/memories/:memory/insert. The payload of the job is the shape of the request. */
export const insertBody = insertPayload.meta({ id: "Insert" });
export type InsertBody = z.output<typeof insertBody>;
