/**
 * Porter's stemmer as published (M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980), without the
 * later departures that most packages carry (`bli` for `abli`, `logi`, words of two letters left alone): stems are
 * stored in the lexical index, so they must never change with a dependency.
 *
 * A word is [C](VC)^m[V]; rules look at the measure m of what a suffix leaves, at a vowel in it, and at its last letters.
 * Of several suffixes in a step the longest one that fits decides, whether or not its condition then holds.
 */
type Rule = readonly [suffix: string, replacement: string];

const STEP_2: readonly Rule[] = [
  ["ational", "ate"],
  ["ization", "ize"],
  ["iveness", "ive"],
  ["fulness", "ful"],
  ["ousness", "ous"],
  ["tional", "tion"],
  ["biliti", "ble"],
  ["entli", "ent"],
  ["ousli", "ous"],
  ["ation", "ate"],
  ["alism", "al"],
  ["aliti", "al"],
  ["iviti", "ive"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["izer", "ize"],
  ["abli", "able"],
  ["alli", "al"],
  ["ator", "ate"],
  ["eli", "e"],
];

const STEP_3: readonly Rule[] = [
  ["icate", "ic"],
  ["ative", ""],
  ["alize", "al"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ness", ""],
  ["ful", ""],
];

const STEP_4: readonly string[] = [
  ...["ement"],
  ...["ance", "ence", "able", "ible", "ment"],
  ...["ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive", "ize"],
  ...["al", "er", "ic", "ou"],
];

/** `c` or `v` per UTF-16 unit; a `y` is a vowel after a consonant. O(length). */
function shapeOf(word: string): string {
  let shape = "";
  // Beside the shape, whose end costs its length to look at while it grows.
  let last = "";
  for (const letter of word.split("")) {
    last = "aeiou".includes(letter) || (letter === "y" && last === "c") ? "v" : "c";
    shape += last;
  }
  return shape;
}

/** m: how often a vowel is followed by a consonant. */
function measure(stem: string): number {
  return shapeOf(stem).match(/vc/g)?.length ?? 0;
}

const hasVowel = (stem: string): boolean => shapeOf(stem).includes("v");

/** *d: ends with a double consonant. */
const endsDouble = (stem: string): boolean =>
  stem.length > 1 && stem.at(-1) === stem.at(-2) && shapeOf(stem).endsWith("c");

/** *o: ends consonant, vowel, consonant, the last not w, x or y. */
const endsShort = (stem: string): boolean => shapeOf(stem).endsWith("cvc") && !/[wxy]$/.test(stem);

const cut = (word: string, suffix: string): string => word.slice(0, word.length - suffix.length);

function step1a(word: string): string {
  if (word.endsWith("sses") || word.endsWith("ies")) return cut(word, "es");
  return word.endsWith("s") && !word.endsWith("ss") ? cut(word, "s") : word;
}

function step1b(word: string): string {
  if (word.endsWith("eed")) return measure(cut(word, "eed")) > 0 ? cut(word, "d") : word;
  const suffix = ["ed", "ing"].find((candidate) => word.endsWith(candidate));
  if (suffix === undefined || !hasVowel(cut(word, suffix))) return word;
  const stem = cut(word, suffix);
  if (/(at|bl|iz)$/.test(stem)) return `${stem}e`;
  if (endsDouble(stem) && !/[lsz]$/.test(stem)) return stem.slice(0, -1);
  return measure(stem) === 1 && endsShort(stem) ? `${stem}e` : stem;
}

const step1c = (word: string): string => (word.endsWith("y") && hasVowel(cut(word, "y")) ? `${cut(word, "y")}i` : word);

function replace(word: string, rules: readonly Rule[]): string {
  const rule = rules.find(([suffix]) => word.endsWith(suffix));
  if (rule === undefined) return word;
  const stem = cut(word, rule[0]);
  return measure(stem) > 0 ? stem + rule[1] : word;
}

function step4(word: string): string {
  const suffix = STEP_4.find((candidate) => word.endsWith(candidate));
  if (suffix === undefined) return word;
  const stem = cut(word, suffix);
  if (suffix === "ion" && !/[st]$/.test(stem)) return word;
  return measure(stem) > 1 ? stem : word;
}

function step5(word: string): string {
  let stem = word;
  if (word.endsWith("e")) {
    const shorter = cut(word, "e");
    const m = measure(shorter);
    if (m > 1 || (m === 1 && !endsShort(shorter))) stem = shorter;
  }
  return stem.endsWith("ll") && measure(stem) > 1 ? stem.slice(0, -1) : stem;
}

/** The stem of a lower-case word. Letters outside a-z and digits count as consonants. O(length). */
export function stem(word: string): string {
  const bare = step1c(step1b(step1a(word)));
  return step5(step4(replace(replace(bare, STEP_2), STEP_3)));
}
