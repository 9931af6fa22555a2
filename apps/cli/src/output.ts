import Table from "cli-table3";
import { colors } from "./colors.js";

/** Writes a result to stdout. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Writes a result for programs to stdout. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

/** Says something to a person on stderr. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** A table with thin rules between columns; texts wider than their share of the terminal are cut at the end. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const made = new Table({
    head: head.map((text) => colors.bold(text)),
    style: { head: [], border: [], compact: true },
    chars: RULES,
  });
  made.push(...rows.map((row) => [...row]));
  return made
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}

const RULES = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: " ",
};

/** The text cut to a number of characters, with an ellipsis where something is missing. */
export function cut(text: string, characters: number): string {
  const points = Array.from(text.replaceAll(/\s+/gu, " "));
  return points.length <= characters ? points.join("") : `${points.slice(0, characters - 1).join("")}…`;
}
