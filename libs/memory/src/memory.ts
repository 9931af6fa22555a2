import type { Attributes } from "#core";

/** How a memory grows and is read. */
export type Structure = "artifact" | "conversation";

export type ScorerName = "similarity" | "entailment" | "lexical" | "hybrid";

/** Scoring settings of a memory. */
export interface ScoringSettings {
  /** Default `hybrid`. */
  readonly scorer: ScorerName;
  /** Share of similarity in `hybrid`, in [0, 1]; default 0.4. */
  readonly a: number;
  /** Hypothesis template with one `{}`; default `This is about {}.` */
  readonly entailmentTemplate: string;
}

/** A memory as the tree store keeps it. */
export interface Memory {
  readonly tenant: string;
  /** TypeID `mem_…`. */
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly structure: Structure;
  /** Text templates by node type: `{name}` is that attribute; a type without one has `name: value` lines. */
  readonly templates: Readonly<Record<string, string>>;
  readonly scoring: ScoringSettings;
  /** The model whose vectors queries read. */
  readonly embeddingModel: string;
  /** The model that a `maintain` job is moving the memory to; reads stay on `embeddingModel` until it is done. */
  readonly nextEmbeddingModel?: string;
  /** Committed revision; 0 is the empty memory. */
  readonly revision: number;
  /** Live nodes. */
  readonly nodes: number;
  /** o200k tokens of all live texts. */
  readonly tokens: number;
  /** UTF-8 bytes of what the live nodes say (`stateBytes`). */
  readonly bytes: number;
  /** Changes when a type, name, kind or relation appears or disappears; plans are cached by it. */
  readonly schemaVersion: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Value kinds of an attribute or metadata name. */
export type ValueKind = "string" | "number" | "boolean" | "list";

/** Σ: derived from the data (paper 000, section 3.1), counted over the live head nodes. */
export interface MemorySchema {
  readonly version: number;
  readonly types: readonly {
    readonly type: string;
    readonly count: number;
    readonly attributes: readonly NameSummary[];
    readonly metadata: readonly NameSummary[];
  }[];
  /** Parent type (`Memory` for the root) -> child type. */
  readonly relations: readonly { readonly parent: string; readonly child: string; readonly count: number }[];
}

export interface NameSummary {
  readonly name: string;
  readonly kinds: Readonly<Partial<Record<ValueKind, number>>>;
  readonly count: number;
}

/** A tree as it is inserted, checked already. */
export interface TreeNode {
  readonly type: string;
  readonly attributes: Attributes;
  readonly metadata: Attributes;
  readonly children: readonly TreeNode[];
}
