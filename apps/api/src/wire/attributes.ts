import { z } from "zod";

/** What an attribute or a metadata entry can hold. */
const attributeValue = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);

/** Names to values, in the order in which they were inserted. */
export const attributes = z.record(z.string(), attributeValue).meta({ id: "Attributes" });
