/**
 * Servers keep their tokenizers to themselves, so tokens are estimated, upwards: three UTF-8 bytes a token, where English
 * prose has about four, and CJK about one character of three bytes. Where the truth is worse still the server says so, and
 * the adapter splits further.
 */
const BYTES_PER_TOKEN = 3;
/** What a model puts around a text. */
const SPECIAL_TOKENS = 2;

/** An upper estimate of a text's tokens. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN) + SPECIAL_TOKENS;
}

/** A text in consecutive parts of at most `maxTokens` by the estimate, cut between words where there are any. */
export function splitByEstimate(text: string, maxTokens: number): readonly string[] {
  const parts: string[] = [];
  const rest = [text];
  for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
    if (estimateTokens(part) <= maxTokens || part.length < 2) parts.push(part);
    else rest.unshift(...halve(part));
  }
  return parts;
}

/** A text of at least two characters in two parts, cut at the space nearest to its middle, never within a character. */
export function halve(text: string): readonly [string, string] {
  const middle = Math.ceil(text.length / 2);
  const before = text.lastIndexOf(" ", middle);
  const after = text.indexOf(" ", middle);
  const nearest = after >= 0 && after - middle < middle - before ? after : before;
  const isSurrogate = (text.charCodeAt(middle) & 0xfc00) === 0xdc00;
  const fallback = isSurrogate && text.length > 2 ? middle + 1 : middle;
  const at = nearest > 0 && nearest < text.length - 1 ? nearest : fallback;
  return [text.slice(0, at), text.slice(at)];
}
