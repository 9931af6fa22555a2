import { type Attributes, printValue } from "#core";
import type { Memory, Structure } from "../memory.js";
import { peopleTime } from "./people-time.js";

/** Text templates by node type. */
export type Templates = Readonly<Record<string, string>>;

const PLACEHOLDER = /\{([^{}]*)\}/gu;
/** What separates a placeholder from what follows. */
const SEPARATOR = /^[:,;]?[ \t]*/u;
/** Brackets that go with the placeholder that they enclose. */
const BRACKETS: ReadonlySet<string> = new Set(["[]", "()"]);

/**
 * Templates that a structure has of its own; those of a memory stand before them. The date of a turn is part of its text
 * because that is worth 2 to 4 points of recall on conversations.
 */
export const STRUCTURE_TEMPLATES: Readonly<Record<Structure, Templates>> = {
  artifact: {},
  conversation: { Turn: "[{time}] {speaker}: {text}" },
};

/** The templates that make the texts of a memory. */
export function templatesOf(memory: Pick<Memory, "structure" | "templates">): Templates {
  return { ...STRUCTURE_TEMPLATES[memory.structure], ...memory.templates };
}

/**
 * The text of a node that is scored: its type's template, or else its attributes in insertion order as `name: value` lines
 * (the value alone if there is one attribute). Metadata never enters. O(length).
 */
export function nodeText(
  node: { readonly type: string; readonly attributes: Attributes },
  templates: Templates,
): string {
  const template = Object.hasOwn(templates, node.type) ? templates[node.type] : undefined;
  if (template !== undefined) return fill(template, node.attributes);
  const entries = Object.entries(node.attributes);
  const [only] = entries;
  if (only !== undefined && entries.length === 1) return printValue(only[1]);
  return entries.map(([name, value]) => `${name}: ${printValue(value)}`).join("\n");
}

/**
 * A template with its placeholders filled; RFC 3339 times as people write them. A placeholder without a value goes with the
 * bracket around it and the separator after it, so that a turn without a time begins with its speaker; a template none of
 * whose placeholders has a value gives the empty text.
 */
function fill(template: string, attributes: Attributes): string {
  let text = "";
  let rest = template;
  let filled = 0;
  let missing = 0;
  for (const match of template.matchAll(PLACEHOLDER)) {
    const at = rest.indexOf(match[0]);
    text += rest.slice(0, at);
    rest = rest.slice(at + match[0].length);
    const value = valueOf(attributes, match[1] ?? "");
    text += value;
    if (value !== "") {
      filled += 1;
      continue;
    }
    missing += 1;
    if (BRACKETS.has(text.slice(-1) + rest.slice(0, 1))) {
      text = text.slice(0, -1);
      rest = rest.slice(1);
    }
    rest = rest.replace(SEPARATOR, "");
  }
  if (missing === 0) return text + rest;
  return filled === 0 ? "" : (text + rest).trimEnd();
}

function valueOf(attributes: Attributes, name: string): string {
  const value = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
  if (value === undefined) return "";
  return typeof value === "string" ? peopleTime(value) : printValue(value);
}
