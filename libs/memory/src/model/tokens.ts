/** Counts the o200k tokens of a text. */
export type TokenCounter = (text: string) => number;

/**
 * The encoder's cost grows with the square of an unbroken run of letters, signs or spaces: 64 KiB of letters take over a
 * second. Runs longer than this many UTF-16 units are counted in slices, which can add a token a slice.
 */
const RUN_UNITS = 1_024;
/** Short ones match too: an expression that asks for long ones alone tries every place of a short one as their beginning. */
const RUN = /[\p{L}\p{M}]+|[^\s\p{L}\p{N}]+|\s+/gu;
/** Text that looks like a special token is text. */
const AS_TEXT = { disallowedSpecial: new Set<string>() };

let counter: Promise<TokenCounter> | undefined;

/**
 * The token counter, loaded on first use and once a process: the vocabulary takes about 0.2 s and 60 MB, which only a
 * process that stores nodes pays.
 */
export function loadTokenCounter(): Promise<TokenCounter> {
  counter ??= import("gpt-tokenizer/encoding/o200k_base").then(({ countTokens }) => (text: string) => {
    let tokens = 0;
    for (const slice of slices(text)) tokens += countTokens(slice, AS_TEXT);
    return tokens;
  });
  return counter;
}

function slices(text: string): readonly string[] {
  if (text.length <= RUN_UNITS) return [text];
  const parts: string[] = [];
  let end = 0;
  for (const match of text.matchAll(RUN)) {
    let at = match.index;
    const stop = at + match[0].length;
    while (stop - at > RUN_UNITS) {
      at += RUN_UNITS;
      // Never between the halves of a surrogate pair.
      if (/[\uDC00-\uDFFF]/.test(text.charAt(at))) at -= 1;
      parts.push(text.slice(end, at));
      end = at;
    }
  }
  parts.push(text.slice(end));
  return parts;
}
