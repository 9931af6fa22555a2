import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { LIMITS } from "#core";
import { stem } from "./stem.js";
import { STOP_WORDS } from "./stop-words.js";

const APOSTROPHES = /['’]/g;
const WORD = /[\p{L}\p{Nd}]+/gu;

/**
 * Longest word whose stem is kept. The engine copies a part of a text that is this short; a longer one would hold the whole text
 * in memory.
 */
const KEPT_LENGTH = 12;

/** Longest term, in UTF-16 units: an index of Neo4j takes no key of more than 8 KB. */
const TERM_LENGTH = 256;

/** Stems of words that were met before: a few thousand make up most of what is written, and a stem takes a microsecond. */
const stems = new LRUCache<string, string>({ max: LIMITS.keptStems });

/**
 * The terms of a text in their order, with repeats: lower case, apostrophes (' and ’) dropped, runs of Unicode letters and
 * digits, stop words out, Porter stems. What is longer than any word, as a dump in hexadecimal digits, is named by its hash. O(length).
 */
export function analyze(text: string): readonly string[] {
  const words = text.toLowerCase().replace(APOSTROPHES, "").match(WORD) ?? [];
  return words.filter((word) => !STOP_WORDS.has(word)).map(stemOf);
}

function stemOf(word: string): string {
  if (word.length > KEPT_LENGTH) return bounded(stem(word));
  const known = stems.get(word);
  if (known !== undefined) return known;
  const made = stem(word);
  stems.set(word, made);
  return made;
}

/** Equal terms stay equal, and others different. */
function bounded(term: string): string {
  return term.length <= TERM_LENGTH ? term : hash("sha256", term);
}
