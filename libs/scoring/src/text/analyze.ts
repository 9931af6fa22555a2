import { stem } from "./stem.js";
import { STOP_WORDS } from "./stop-words.js";

const APOSTROPHES = /['’]/g;
const WORD = /[\p{L}\p{Nd}]+/gu;

/**
 * The terms of a text in their order, with repeats: lower case, apostrophes (' and ’) dropped, runs of Unicode letters and
 * digits, stop words out, Porter stems. O(length).
 */
export function analyze(text: string): readonly string[] {
  const words = text.toLowerCase().replace(APOSTROPHES, "").match(WORD) ?? [];
  return words.filter((word) => !STOP_WORDS.has(word)).map(stem);
}
