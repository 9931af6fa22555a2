import { CommandError } from "../command-error.js";

/** A message in the shape of the API. */
export interface ImportMessage {
  readonly speaker: string;
  readonly text: string;
  readonly [member: string]: unknown;
}

/** The messages of a file, cut where the conversation changes. */
export type Transcript = readonly { readonly conversation?: string; readonly messages: readonly ImportMessage[] }[];

/** Members of a line in the API's words, and what other tools call them. */
const MEMBERS = {
  speaker: ["speaker", "role", "name"],
  text: ["text", "content"],
  time: ["time", "timestamp"],
  session: ["session"],
  conversation: ["conversation"],
  metadata: ["metadata"],
} as const;

/**
 * A chat transcript: one JSON object a line with `speaker` (or `role`) and `text` (or `content`), and if known `time` (or
 * `timestamp`), `session`, `conversation`, `metadata`. Empty lines are skipped.
 * @throws CommandError naming the line
 */
export function readTranscript(text: string, file: string): Transcript {
  const parts: { conversation?: string; messages: ImportMessage[] }[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const place = `${file}, line ${index + 1}`;
    const { conversation, ...message } = readMessage(line, place);
    const last = parts.at(-1);
    if (last !== undefined && last.conversation === conversation) last.messages.push(message);
    else parts.push({ ...(conversation !== undefined && { conversation }), messages: [message] });
  }
  if (parts.length === 0) throw new CommandError(`${file} has no message.`);
  return parts;
}

function readMessage(line: string, place: string): ImportMessage & { readonly conversation?: string } {
  const given = parseLine(line, place);
  const pick = (member: keyof typeof MEMBERS): unknown =>
    MEMBERS[member].map((name) => given[name]).find((value) => value !== undefined);
  const [speaker, text, conversation] = [pick("speaker"), pick("text"), pick("conversation")];
  if (typeof speaker !== "string" || typeof text !== "string") {
    throw new CommandError(`${place}: a message needs the strings "speaker" (or "role") and "text" (or "content").`);
  }
  if (conversation !== undefined && typeof conversation !== "string") {
    throw new CommandError(`${place}: "conversation" must be a string.`);
  }
  const [time, session, metadata] = [pick("time"), pick("session"), pick("metadata")];
  return {
    speaker,
    text,
    ...(time !== undefined && { time }),
    ...(session !== undefined && { session }),
    ...(metadata !== undefined && { metadata }),
    ...(conversation !== undefined && { conversation }),
  };
}

function parseLine(line: string, place: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new CommandError(`${place} is not JSON: a transcript has one JSON object a line.`, { cause: error });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new CommandError(`${place} is not a JSON object.`);
  }
  return value as Readonly<Record<string, unknown>>;
}
