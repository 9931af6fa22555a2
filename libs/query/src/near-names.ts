import { distance } from "fastest-levenshtein";

/** Suggestions shown at most. */
const SHOWN = 3;

/**
 * Known names that a reader could have meant, the nearest first: equal but for case, or at most a third of the letters
 * (but always two) away. O(names * length²), for errors only.
 */
export function nearNames(name: string, known: Iterable<string>): readonly string[] {
  const wanted = name.toLowerCase();
  const reach = Math.max(2, Math.floor(name.length / 3));
  return [...new Set(known)]
    .map((candidate) => ({ candidate, edits: distance(wanted, candidate.toLowerCase()) }))
    .filter(({ candidate, edits }) => edits <= reach && edits < Math.max(name.length, candidate.length))
    .sort((a, b) => a.edits - b.edits || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, SHOWN)
    .map(({ candidate }) => candidate);
}
