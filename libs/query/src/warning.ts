/** Something a caller should know about a query that is nevertheless evaluated. */
export interface QueryWarning {
  readonly code:
    "complement_precedence" | "impossible_relation" | "attribute_not_on_type" | "empty_memory" | "more_warnings";
  /** A sentence that names the part of the query. */
  readonly message: string;
}
