import type { Memory, TreeNode } from "../memory.js";
import { EspalierError, isId } from "#core";
import { checkMessages } from "./check-messages.js";
import { checkTree } from "../model/check-tree.js";
import { parseXml } from "../model/parse-xml.js";
import type { InsertRequest, Message } from "./insert-request.js";

/** An insert that passed every check that needs no store. */
export type CheckedInsert =
  | { readonly kind: "tree"; readonly roots: readonly TreeNode[]; readonly under: string | null }
  | { readonly kind: "messages"; readonly conversation: string; readonly messages: readonly Message[] };

/**
 * Everything about an insert that can be refused before a job is made: shapes, names, kinds, texts, sizes, and whether the
 * memory's structure takes it. Synchronous and pure; O(size).
 * @throws EspalierError what `checkTree`, `parseXml` and `checkMessages` throw, `node_not_found` (`under` is not a node id),
 * `invalid_structure` (messages for a memory that is not a conversation)
 */
export function checkInsert(request: InsertRequest, memory: Pick<Memory, "structure">): CheckedInsert {
  if ("messages" in request) {
    if (memory.structure !== "conversation") {
      throw new EspalierError(
        "invalid_structure",
        `This memory is of structure ${memory.structure}, which takes trees; messages go into a memory created with {"structure": "conversation"}.`,
        {
          details: { structure: memory.structure },
        },
      );
    }
    return { kind: "messages", ...checkMessages(request.conversation, request.messages) };
  }
  const under = request.under ?? null;
  if (under !== null && !isId("nod", under)) throw unknownParent(under);
  const roots = "xml" in request ? parseXml(request.xml) : checkTree(request.tree);
  return { kind: "tree", roots, under };
}

/** `node_not_found` for the node named by `under`. */
export function unknownParent(under: string): EspalierError {
  return new EspalierError(
    "node_not_found",
    `under: there is no node ${JSON.stringify(under.slice(0, 64).toWellFormed())} in this memory.`,
    {
      details: { path: "under" },
    },
  );
}
