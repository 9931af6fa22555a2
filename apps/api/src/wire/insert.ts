import { z } from "zod";
import { LIMITS } from "#core";
import { insertPayloads, type insertPayload } from "#jobs";
import { attributes } from "./attributes.js";

/** A node as it is inserted, with what lies below it. */
const newTree = z
  .strictObject({
    type: z.string().meta({ description: "A Name: a letter or `_`, then letters, digits, `_`, `-`, `.`." }),
    attributes: attributes.optional().meta({ description: "What is scored and compared." }),
    metadata: attributes.optional().meta({ description: "What is compared and shown, never scored." }),
    get children() {
      return z.array(newTree).max(LIMITS.nodeChildren).optional();
    },
  })
  .meta({ id: "NewTree" });

const under = insertPayloads.tree.shape.under.meta({
  description: "Id of the node below which to insert; the default is the root.",
});

/**
 * POST /v1/memories/:memory/insert: the payload of the job, with its tree spelt out. Trees are checked by libs/memory, which
 * tells their problems better than a union could.
 */
export const insertBody = z
  .union([
    insertPayloads.tree.extend({
      tree: z.union([newTree, z.array(newTree).min(1)]).meta({ description: "A tree or several, in order." }),
      under,
    }),
    insertPayloads.xml.extend({
      xml: insertPayloads.xml.shape.xml.meta({
        description:
          "One element: a node of that type. XML attributes and text-only children without attributes are attributes; its own text is the attribute `text`.",
      }),
      under,
    }),
    insertPayloads.messages.meta({ description: "For memories created with `structure: conversation`." }),
  ])
  .meta({ id: "Insert" });

/** An insert whose shape is right. */
export type InsertBody = z.output<typeof insertPayload>;
