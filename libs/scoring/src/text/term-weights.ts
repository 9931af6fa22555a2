/**
 * BM25 with a fixed reference length (language page, "lexical"): a document's weight of a term depends on nothing but its
 * own text, so it is computed once, at write, and never changes. All that a memory's statistics decide, idf and the
 * normalisation to [0, 1), is in the query's factor, so that Rel = sum over terms of factor * weight.
 */
import type { LexicalStatistics, QueryTermWeights } from "../ports.js";
import { analyze } from "./analyze.js";

const K1 = 0.9;
const B = 0.4;
const REFERENCE_LENGTH = 24;

/** tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / 24)) per term of the text; empty without terms. O(length). */
export function termWeights(text: string): ReadonlyMap<string, number> {
  const terms = analyze(text);
  const counts = new Map<string, number>();
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  const norm = K1 * (1 - B + (B * terms.length) / REFERENCE_LENGTH);
  return new Map([...counts].map(([term, tf]) => [term, (tf * (K1 + 1)) / (tf + norm)]));
}

/** The distinct terms of a condition. */
export function queryTerms(text: string): readonly string[] {
  return [...new Set(analyze(text))];
}

/** ln(1 + (N - df + .5) / (df + .5)). */
export function inverseDocumentFrequency(documents: number, frequency: number): number {
  return Math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5));
}

/** Factor per query term: idf / sum of idf * (k1 + 1) over **all** of them, also those that no document has. */
export function queryTermWeights(terms: readonly string[], statistics: LexicalStatistics): QueryTermWeights {
  const idfs = terms.map((term) =>
    inverseDocumentFrequency(statistics.documents, statistics.frequencies.get(term) ?? 0),
  );
  const total = idfs.reduce((sum, idf) => sum + idf * (K1 + 1), 0);
  return new Map(terms.map((term, index) => [term, (idfs[index] ?? 0) / total]));
}
