import { printValue, type Attributes } from "#core";

/** A relevance of a field's text (undefined: missing) under a condition; in [0, 1]. */
export type RelevanceFunction = (fieldText: string | undefined, condition: string) => number;

/**
 * A relevance that depends on both texts alone, so that every engine agrees on it whatever its ids are: a hash, made
 * coarse so that 0, 1 and ties are frequent, sometimes with noise below the sixth decimal, which rounding must remove.
 */
export const hashedRelevance: RelevanceFunction = (fieldText, condition) => {
  if (fieldText === undefined || fieldText === "") return 0;
  let hash = 2_166_136_261;
  for (const character of `${condition}\n${fieldText}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16_777_619) >>> 0;
  }
  hash = Math.imul(hash ^ (hash >>> 15), 2_246_822_519) >>> 0;
  const coarse = (hash % 9) / 8;
  const fine = (hash % 1_000_003) / 1_000_003;
  const noise = hash % 2 === 0 ? 1e-8 : 0;
  return Math.min(1, hash % 5 === 0 ? fine : coarse + noise);
};

/** The text that a field of a test node has: its values as lines, or one attribute. */
export function textOf(node: { readonly attributes: Attributes }, field: string): string | undefined {
  if (field !== "") {
    const value = Object.hasOwn(node.attributes, field) ? node.attributes[field] : undefined;
    return value === undefined ? undefined : printValue(value);
  }
  return Object.entries(node.attributes)
    .map(([name, value]) => `${name}: ${printValue(value)}`)
    .join("\n");
}
