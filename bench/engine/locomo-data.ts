import { readFile } from "node:fs/promises";
import type { Message } from "#memory";

/** Where the data set lies, relative to the root of the checkout; it is never part of it. */
const FILE = "../shared/data/locomo/locomo10.json";

/** Category of the adversarial questions: they have no answer in the conversation. */
const ADVERSARIAL = 5;

/** A question with the turns that hold its answer. */
export interface LocomoQuestion {
  readonly question: string;
  readonly category: number;
  /** `D<session>:<turn>`. */
  readonly gold: ReadonlySet<string>;
}

/** One conversation as messages; each has its turn's id as metadata `source`. */
export interface LocomoConversation {
  readonly name: string;
  readonly messages: readonly Message[];
  /** Those outside category 5 that keep a gold turn. */
  readonly questions: readonly LocomoQuestion[];
}

interface LocomoFile {
  readonly sample_id: string;
  readonly sessions: readonly {
    readonly id: number;
    readonly date_time: string;
    readonly turns: readonly { readonly dia_id: string; readonly speaker: string; readonly text: string }[];
  }[];
  readonly qa: readonly {
    readonly question: string;
    readonly category: number;
    readonly evidence?: readonly string[];
  }[];
}

/** The conversations, or undefined where the data set is not there. */
export async function readLocomo(): Promise<readonly LocomoConversation[] | undefined> {
  const text = await readFile(FILE, "utf8").catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as readonly LocomoFile[]).map(toConversation);
}

/** The session of a turn id: `D3:14` is of `D3`. */
export function sessionOf(turn: string): string {
  return turn.slice(0, turn.indexOf(":"));
}

function toConversation(file: LocomoFile): LocomoConversation {
  const messages = file.sessions.flatMap(({ id, date_time, turns }) => {
    const time = parseTime(date_time);
    return turns.map(({ dia_id, speaker, text }): Message => ({
      speaker,
      text,
      time,
      session: `D${id}`,
      metadata: { source: dia_id },
    }));
  });
  const known = new Set(messages.map(({ metadata }) => metadata?.["source"]));
  const questions = file.qa
    .filter(({ category }) => category !== ADVERSARIAL)
    .map(({ question, category, evidence = [] }) => ({
      question,
      category,
      gold: new Set(evidence.filter((turn) => known.has(turn))),
    }))
    .filter(({ gold }) => gold.size > 0);
  return { name: file.sample_id, messages, questions };
}

const MONTHS = "january february march april may june july august september october november december".split(" ");

/** `1:56 pm on 8 May, 2023` as RFC 3339. @throws Error on any other form */
export function parseTime(text: string): string {
  const match = /^(\d{1,2}):(\d{2}) (am|pm) on (\d{1,2}) (\w+), (\d{4})$/.exec(text);
  const [, hour, minute = "", half, day, month, year = ""] = match ?? [];
  const monthNumber = MONTHS.indexOf((month ?? "").toLowerCase()) + 1;
  if (hour === undefined || day === undefined || monthNumber === 0) throw new Error(`not a time: ${text}`);
  const hours = (Number(hour) % 12) + (half === "pm" ? 12 : 0);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${year}-${two(monthNumber)}-${two(Number(day))}T${two(hours)}:${minute}:00Z`;
}
