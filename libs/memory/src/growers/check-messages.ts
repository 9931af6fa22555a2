import { EspalierError, LIMITS } from "#core";
import type { Message } from "./insert-request.js";
import { checkAttributes, checkText, invalidRequest } from "../model/check-values.js";

/** Problems that are listed: enough to see what went wrong with a transcript. */
const LISTED_PROBLEMS = 100;

/**
 * Messages as they came, already of the right shapes: what the shapes cannot say. Located like `messages[3].text`.
 * Every problem is listed in `errors`; the code and the message are those of the first.
 * @throws EspalierError `invalid_request`, `invalid_text`, `attribute_too_large`, `too_many_nodes`, and for metadata what `checkAttributes` throws
 */
export function checkMessages(
  conversation: string,
  messages: readonly Message[],
): { readonly conversation: string; readonly messages: readonly Message[] } {
  const problems: EspalierError[] = [];
  const attempt = (check: () => void): void => {
    try {
      check();
    } catch (thrown) {
      if (!(thrown instanceof EspalierError)) throw thrown;
      problems.push(thrown);
    }
  };
  attempt(() => {
    checkText(conversation, { path: "conversation" });
  });
  if (messages.length === 0) throw invalidRequest({ path: "messages" }, "expected at least one message");
  if (messages.length > LIMITS.insertNodes) {
    throw new EspalierError("too_many_nodes", `The insert has more than ${LIMITS.insertNodes} messages.`, {
      details: { path: "messages", limit: LIMITS.insertNodes },
    });
  }
  for (const [index, message] of messages.entries()) {
    if (problems.length >= LISTED_PROBLEMS) break;
    for (const check of checksOf(message, `messages[${index}]`)) attempt(check);
  }
  const [first] = problems;
  if (first !== undefined) throw together(first, problems);
  return { conversation, messages };
}

function checksOf({ speaker, text, session, metadata, time }: Message, path: string): readonly (() => void)[] {
  const ofText = (part: string, value: string) => (): void => {
    checkText(value, { path: `${path}.${part}` });
  };
  return [
    ofText("speaker", speaker),
    ofText("text", text),
    ...(session === undefined ? [] : [ofText("session", session)]),
    () => {
      checkAttributes(metadata, "metadata", { path: `${path}.metadata` });
    },
    () => {
      if (time === undefined || !Number.isNaN(Date.parse(time))) return;
      throw invalidRequest({ path: `${path}.time` }, "expected an RFC 3339 date-time with an offset");
    },
  ];
}

/** One error that says them all. */
function together(first: EspalierError, problems: readonly EspalierError[]): EspalierError {
  if (problems.length === 1) return first;
  const errors = problems.map(({ message, details }) => ({ path: String(details["path"]), message }));
  return new EspalierError(first.code, `${first.message} (and ${problems.length - 1} more)`, {
    details: { ...first.details, errors },
  });
}
