import type { DatabaseSync } from "node:sqlite";
import type { QueryTermWeights } from "#scoring";
import { dotProduct, largest, rawTopK } from "../engine/raw-scan.js";
import type { GrownPoints } from "./grow-points.js";
import type { GrownTree } from "./grow-tree.js";
import type { SearchByHand } from "./store-engine.js";

/** What the terms are worth in each item's text: `:memory`, `:terms` as pairs of a term and its factor. */
const SUMS = `SELECT s.id AS id, sum((q.value ->> 1) * p.weight) AS value FROM json_each(:terms) q
  CROSS JOIN memories m ON m.id = :memory CROSS JOIN term_sets c ON c.memory = m.row AND c.field = ''
  CROSS JOIN terms t ON t.term_set = c.id AND t.term = q.value ->> 0
  CROSS JOIN postings p ON p.term = t.id CROSS JOIN states s ON s.row = p.state
  WHERE s.type = 'Item' AND s.head = 1 GROUP BY s.row`;
const BEST = `${SUMS} ORDER BY value DESC, s.path LIMIT :limit`;
/** The same of the items `:ids`. */
const NAMED_SUMS = `SELECT i.value AS id, sum((q.value ->> 1) * p.weight) AS value FROM json_each(:terms) q
  CROSS JOIN memories m ON m.id = :memory CROSS JOIN term_sets c ON c.memory = m.row AND c.field = ''
  CROSS JOIN terms t ON t.term_set = c.id AND t.term = q.value ->> 0 CROSS JOIN json_each(:ids) i
  CROSS JOIN states s ON s.memory = m.row AND s.id = i.value CROSS JOIN postings p ON p.term = t.id AND p.state = s.row
  WHERE s.head = 1 GROUP BY i.key`;

const FREQUENCIES = `SELECT t.term AS term, t.frequency AS frequency FROM json_each(:terms) q CROSS JOIN memories m ON m.id = :memory
  CROSS JOIN term_sets c ON c.memory = m.row AND c.field = '' CROSS JOIN terms t ON t.term_set = c.id AND t.term = q.value`;
const DOCUMENTS = `SELECT c.documents AS documents FROM memories m CROSS JOIN term_sets c ON c.memory = m.row AND c.field = ''
  WHERE m.id = :memory`;

/** Vectors in an array of this process, terms by statements over the postings. */
export function sqliteByHand(database: DatabaseSync, tree: GrownTree, points: GrownPoints): SearchByHand {
  const { memory } = tree.scope;
  const { vectors } = points;
  const places = new Map(tree.items.map(({ id }, index) => [id, index]));
  const ids = JSON.stringify(points.named.map(({ id }) => id));
  const [sums, best, named] = [database.prepare(SUMS), database.prepare(BEST), database.prepare(NAMED_SUMS)];
  const [frequencies, documents] = [database.prepare(FREQUENCIES), database.prepare(DOCUMENTS)];
  const termsOf = (terms: QueryTermWeights): string => JSON.stringify([...terms]);
  return {
    statistics: async (terms) => ({
      documents: documents.get({ memory })?.["documents"] as number,
      frequencies: new Map(
        frequencies
          .all({ memory, terms: JSON.stringify(terms) })
          .map(({ term, frequency }) => [term as string, frequency as number]),
      ),
    }),
    similarity: async (vector, { limit }) => rawTopK(vectors, vector, limit).length,
    lexical: async (terms, limit) => best.all({ memory, terms: termsOf(terms), limit }).length,
    hybrid: async ({ vector, terms }, { a, limit }) => {
      const byTerms = new Float64Array(tree.items.length);
      for (const { id, value } of sums.iterate({ memory, terms: termsOf(terms) })) {
        byTerms[places.get(id as string) ?? 0] = value as number;
      }
      return largest(tree.items.length, limit, (index) => {
        const cosine = dotProduct(vectors, index * vector.length, vector);
        return a * Math.max(0, cosine) + (1 - a) * (byTerms[index] ?? 0);
      }).length;
    },
    cosines: async (vector) =>
      points.named.map(({ id }) => dotProduct(vectors, (places.get(id) ?? 0) * vector.length, vector)).length,
    termWeights: async (terms) => {
      const values = new Map(named.all({ memory, ids, terms: termsOf(terms) }).map(({ id, value }) => [id, value]));
      return points.named.map(({ id }) => values.get(id) ?? 0).length;
    },
  };
}
