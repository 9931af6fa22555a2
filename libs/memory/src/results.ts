import type { Attributes } from "#core";
import type { ScorerName } from "./memory.js";

/** What a reader is asked (the wire's query body with its defaults filled in). */
export interface QueryRequest {
  readonly query: string;
  readonly scorer?: string | undefined;
  readonly topK: number;
  readonly minScore?: number | undefined;
  readonly minRatio?: number | undefined;
  readonly asOf?: number | undefined;
  readonly include: readonly ("subtree" | "evidence")[];
  readonly maxTokens?: number | undefined;
  readonly validate: boolean;
  readonly trace: boolean;
  readonly exact: boolean;
}

/** The result of a query as it goes over the wire, but for `job` and `timings`, which the worker adds. */
export interface QueryResult {
  /** Canonical text. */
  readonly query: string;
  readonly revision: number;
  /** A limit (`topK`, `maxTokens`, those of evidence and subtrees) dropped rows, evidence or subtree nodes. */
  readonly truncated: boolean;
  readonly warnings: readonly QueryWarning[];
  readonly scoring: {
    readonly scorer: ScorerName;
    /** Absent for `lexical`. */
    readonly model?: string;
    /** `hybrid` only. */
    readonly a?: number;
    /** `entailment` only. */
    readonly template?: string;
  };
  readonly rows: readonly ResultRow[];
  /** Sum over the rows. */
  readonly tokens: number;
  readonly trace?: unknown;
}

export interface QueryWarning {
  readonly code: string;
  readonly message: string;
}

export interface ResultRow {
  readonly id: string;
  readonly type: string;
  readonly path: string;
  readonly attributes: Attributes;
  readonly metadata: Attributes;
  readonly score: number;
  readonly tokens: number;
  readonly evidence?: readonly {
    readonly aggregate: number;
    readonly id: string;
    readonly path: string;
    readonly score: number;
  }[];
  readonly subtree?: SubtreeNode;
}

/** The insert shape with ids. */
export interface SubtreeNode {
  readonly id: string;
  readonly type: string;
  readonly attributes: Attributes;
  readonly metadata: Attributes;
  readonly children: readonly SubtreeNode[];
}

export interface InsertResult {
  readonly revision: number;
  readonly inserted: number;
  /** Ids of the inserted nodes that lie highest, in order. */
  readonly roots: readonly string[];
}
