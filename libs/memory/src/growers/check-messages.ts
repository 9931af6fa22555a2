import { EspalierError, LIMITS } from "#core";
import type { Message } from "./insert-request.js";
import { checkAttributes, checkText, invalidRequest } from "../model/check-values.js";

/**
 * Messages as they came, already of the right shapes: what the shapes cannot say. Located like `messages[3].text`.
 * @throws EspalierError `invalid_request`, `invalid_text`, `attribute_too_large`, `too_many_nodes`, and for metadata what `checkAttributes` throws
 */
export function checkMessages(
  conversation: string,
  messages: readonly Message[],
): { readonly conversation: string; readonly messages: readonly Message[] } {
  checkText(conversation, { path: "conversation" });
  if (messages.length === 0) throw invalidRequest({ path: "messages" }, "expected at least one message");
  if (messages.length > LIMITS.insertNodes) {
    throw new EspalierError("too_many_nodes", `The insert has more than ${LIMITS.insertNodes} messages.`, {
      details: { path: "messages", limit: LIMITS.insertNodes },
    });
  }
  for (const [index, message] of messages.entries()) {
    const at = (part: string): { path: string } => ({ path: `messages[${index}].${part}` });
    checkText(message.speaker, at("speaker"));
    checkText(message.text, at("text"));
    if (message.session !== undefined) checkText(message.session, at("session"));
    checkAttributes(message.metadata, "metadata", at("metadata"));
    if (message.time !== undefined && Number.isNaN(Date.parse(message.time))) {
      throw invalidRequest(at("time"), "expected an RFC 3339 date-time with an offset");
    }
  }
  return { conversation, messages };
}
