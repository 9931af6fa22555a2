import { isDescendantPath, roundRelevance, type NodeFilter, type NodeKey } from "#core";
import { Embedder, embeddingProcessCache } from "../caching/embedder.js";
import type {
  Embedding,
  EmbeddingModel,
  LexicalScores,
  LexicalStatistics,
  QueryTermWeights,
  ScoredKey,
  StateRef,
  TextSource,
  VectorScores,
} from "../ports.js";
import { termWeights } from "../text/term-weights.js";

/** A node of a listed memory: its texts by field. */
export interface ListedNode {
  readonly key: NodeKey;
  readonly texts: Readonly<Record<string, string>>;
}

/** A model whose vectors are bags of signed, hashed words: equal texts tie, and cosines can be negative. */
export function bagModel(dimension = 6): EmbeddingModel & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    id: `bag-${dimension}`,
    dimension,
    maxTokens: 64,
    countTokens: (text) => text.length,
    embed: async (texts) => {
      asked.push(...texts);
      return texts.map((text) => ({ vector: bagOf(text, dimension), windowed: false }));
    },
  };
}

function bagOf(text: string, dimension: number): Float32Array {
  const vector = new Float32Array(dimension);
  vector[0] = 0.1;
  for (const word of text.split(" ")) {
    let hash = 7;
    for (const character of word) hash = (hash * 31 + character.charCodeAt(0)) % 65_521;
    const at = hash % dimension;
    vector[at] = (vector[at] ?? 0) + (hash % 3 === 0 ? -1 : 1);
  }
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** The ports of scoring over a plain list of nodes: every answer by looking at every node. */
export class ListedSources {
  readonly model: ReturnType<typeof bagModel>;
  readonly embedder: Embedder;
  /** Calls of the ports, by name. */
  readonly calls: string[] = [];
  readonly #nodes: readonly ListedNode[];
  readonly #vectors = new Map<string, Float32Array>();

  /** `embedded` says which fields have their vector from the start; few dimensions make many ties. */
  constructor(
    nodes: readonly ListedNode[],
    options: { readonly embedded?: (node: ListedNode, field: string) => boolean; readonly dimension?: number } = {},
  ) {
    const { embedded = () => true, dimension } = options;
    this.model = bagModel(dimension);
    this.embedder = new Embedder(this.model, { processCache: embeddingProcessCache(), now: () => 0 });
    this.#nodes = nodes;
    for (const node of nodes) {
      for (const [field, text] of Object.entries(node.texts)) {
        if (text === "" || !embedded(node, field)) continue;
        this.#vectors.set(slot(field, node.key), bagOf(text, this.model.dimension));
      }
    }
  }

  readonly vectors: VectorScores = {
    scores: async (field, vector, states) => {
      this.calls.push("vectors.scores");
      return Float64Array.from(states, (state) => this.#cosine(field, vector, state));
    },
    topK: async (field, vector, filter, { limit }) => {
      this.calls.push("vectors.topK");
      const rows = this.inside(filter).map(({ key }) => ({
        key,
        value: roundRelevance(Math.max(0, this.#cosine(field, vector, key) || 0)),
      }));
      return { rows: ranked(rows).slice(0, limit), approximate: false };
    },
    missing: async (field, of, limit) => {
      this.calls.push("vectors.missing");
      const nodes = "filter" in of ? this.inside(of.filter) : this.#nodes.filter(({ key }) => named(of.states, key));
      return nodes
        .filter(({ key, texts }) => (texts[field] ?? "") !== "" && !this.#vectors.has(slot(field, key)))
        .slice(0, limit)
        .map(({ key, texts }) => ({ id: key.id, born: key.born, text: texts[field] ?? "" }));
    },
    keep: async (field, vectors) => {
      this.calls.push("vectors.keep");
      for (const { embedding, ...state } of vectors)
        this.#vectors.set(slot(field, state), (embedding satisfies Embedding).vector);
    },
  };

  readonly lexical: LexicalScores = {
    statistics: async (field, terms): Promise<LexicalStatistics> => {
      this.calls.push("lexical.statistics");
      const documents = this.#nodes.map(({ texts }) => texts[field] ?? "").filter((text) => text !== "");
      const weights = documents.map(termWeights);
      return {
        documents: documents.length,
        frequencies: new Map(terms.map((term) => [term, weights.filter((document) => document.has(term)).length])),
      };
    },
    scores: async (field, terms, states) => {
      this.calls.push("lexical.scores");
      return Float64Array.from(states, ({ id, born }) => {
        const node = this.#nodes.find(({ key }) => key.id === id && key.born === born);
        return weigh(node?.texts[field] ?? "", terms);
      });
    },
    matches: async (field, terms, filter, { above, limit }) => {
      this.calls.push("lexical.matches");
      const rows = this.inside(filter).map(({ key, texts }) => ({ key, value: weigh(texts[field] ?? "", terms) }));
      return ranked(rows.filter(({ value }) => value > above)).slice(0, limit);
    },
  };

  readonly texts: TextSource = {
    texts: async (field, states) => {
      this.calls.push("texts.texts");
      return states.map(({ id }) => this.#nodes.find(({ key }) => key.id === id)?.texts[field]);
    },
  };

  /** The nodes of a filter, in document order. */
  inside({ type, scope }: NodeFilter): readonly ListedNode[] {
    return this.#nodes.filter(
      ({ key }) =>
        (type === undefined || key.type === type) &&
        (scope.kind === "children"
          ? scope.of.includes(key.parentId)
          : scope.of.some((ancestor) => isDescendantPath(key.pathKey, ancestor))),
    );
  }

  #cosine(field: string, vector: Float32Array, state: StateRef): number {
    const stored = this.#vectors.get(slot(field, state));
    return stored === undefined
      ? Number.NaN
      : stored.reduce((sum, value, index) => sum + value * (vector[index] ?? 0), 0);
  }
}

const slot = (field: string, { id, born }: StateRef): string => `${field}|${id}@${born}`;

const named = (states: readonly StateRef[], key: NodeKey): boolean =>
  states.some(({ id, born }) => id === key.id && born === key.born);

const weigh = (text: string, terms: QueryTermWeights): number => {
  const weights = termWeights(text);
  return [...terms].reduce((sum, [term, factor]) => sum + factor * (weights.get(term) ?? 0), 0);
};

/** By rounded value descending, then path key; zeros left out. */
function ranked(rows: readonly ScoredKey[]): readonly ScoredKey[] {
  return rows
    .filter(({ value }) => roundRelevance(value) > 0)
    .sort(
      (left, right) =>
        roundRelevance(right.value) - roundRelevance(left.value) || (left.key.pathKey < right.key.pathKey ? -1 : 1),
    );
}
