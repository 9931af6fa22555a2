/**
 * The one registry of errors. Libs throw `EspalierError` with a code from here; one filter in the API and one handler in
 * the worker translate. Messages say what was wrong, where, what was expected; never secrets or memory contents.
 */
export type ErrorCategory = "input" | "auth" | "not_found" | "conflict" | "limit" | "unavailable" | "internal";

/** One row of the registry. `retryable`: the same call can succeed later, so a job that failed so is tried again. */
export interface ErrorKind {
  readonly category: ErrorCategory;
  readonly status: number;
  readonly retryable: boolean;
  /** Short human title (problem+json `title`). */
  readonly title: string;
  /** What the caller can do. */
  readonly advice: string;
}

const input = (status: number, title: string, advice: string): ErrorKind => ({
  category: "input",
  status,
  retryable: false,
  title,
  advice,
});
const limit = (status: number, title: string, advice: string): ErrorKind => ({
  category: "limit",
  status,
  retryable: false,
  title,
  advice,
});
const unavailable = (title: string, advice: string): ErrorKind => ({
  category: "unavailable",
  status: 503,
  retryable: true,
  title,
  advice,
});

export const ERRORS = {
  // --- requests
  malformed_json: input(400, "The body is not JSON", "Send one JSON value in UTF-8."),
  invalid_request: input(
    400,
    "The request does not fit its schema",
    "See /docs for the shape; `errors` lists every problem with its path.",
  ),
  unsupported_media_type: input(415, "Unsupported content type", "Send application/json."),
  body_too_large: limit(413, "The body is too large", "Split the insert, or raise the body limit."),
  too_many_large_bodies: unavailable("Too many large bodies at once", "Retry later, or split the insert."),
  idempotency_not_supported: input(
    400,
    "This route does not honour Idempotency-Key",
    "Send the request without the header.",
  ),
  idempotency_conflict: {
    category: "conflict",
    status: 409,
    retryable: false,
    title: "The Idempotency-Key was used with another request",
    advice: "Use a new key for a new request.",
  },
  invalid_cursor: input(400, "The cursor is not one of ours", "Start the list again without a cursor."),
  route_not_found: {
    category: "not_found",
    status: 404,
    retryable: false,
    title: "No such route",
    advice: "See /docs for the routes that exist.",
  },
  method_not_allowed: input(405, "Method not allowed", "See /docs for the methods of this route."),
  // --- auth
  unauthorized: {
    category: "auth",
    status: 401,
    retryable: false,
    title: "No valid API key",
    advice: "Send `Authorization: Bearer <key>`.",
  },
  key_expired: {
    category: "auth",
    status: 401,
    retryable: false,
    title: "The API key has expired",
    advice: "Ask an admin of the tenant for a new key.",
  },
  forbidden: {
    category: "auth",
    status: 403,
    retryable: false,
    title: "The API key may not do this",
    advice: "`detail` says what the key lacks: use one that has it.",
  },
  tenant_suspended: {
    category: "auth",
    status: 403,
    retryable: false,
    title: "The tenant is suspended",
    advice: "Ask whoever runs the deployment.",
  },
  // --- things
  memory_not_found: {
    category: "not_found",
    status: 404,
    retryable: false,
    title: "Unknown memory",
    advice: "List memories with GET /v1/memories.",
  },
  node_not_found: {
    category: "not_found",
    status: 404,
    retryable: false,
    title: "Unknown node",
    advice: "Use an id that a query or /tree returned.",
  },
  job_not_found: {
    category: "not_found",
    status: 404,
    retryable: false,
    title: "Unknown job",
    advice: "Jobs are kept for an hour after they end, or until the tenant's newer ones need their room.",
  },
  key_not_found: {
    category: "not_found",
    status: 404,
    retryable: false,
    title: "Unknown API key",
    advice: "List keys with GET /v1/admin/keys.",
  },
  tenant_not_found: {
    category: "not_found",
    status: 404,
    retryable: false,
    title: "Unknown tenant",
    advice: "List tenants with GET /v1/admin/tenants.",
  },
  webhook_not_found: {
    category: "not_found",
    status: 404,
    retryable: false,
    title: "Unknown webhook",
    advice: "List webhooks with GET /v1/webhooks.",
  },
  delivery_not_found: {
    category: "not_found",
    status: 404,
    retryable: false,
    title: "Unknown delivery",
    advice: "List a webhook's deliveries with GET /v1/webhooks/:id/deliveries; they are kept for a week.",
  },
  tenant_protected: {
    category: "conflict",
    status: 409,
    retryable: false,
    title: "This tenant stays",
    advice: "The first key acts as `default`: delete its memories instead.",
  },
  revision_conflict: {
    category: "conflict",
    status: 409,
    retryable: true,
    title: "The memory changed meanwhile",
    advice: "Read the memory again and repeat the write.",
  },
  request_in_progress: {
    category: "conflict",
    status: 409,
    retryable: true,
    title: "A request with this Idempotency-Key is still running",
    advice: "Repeat the request later to get its answer.",
  },
  job_not_failed: {
    category: "conflict",
    status: 409,
    retryable: false,
    title: "The job did not fail",
    advice: "Only jobs in state failed or dead can be run again.",
  },
  job_finished: {
    category: "conflict",
    status: 409,
    retryable: false,
    title: "The job has already ended",
    advice: "Nothing to cancel.",
  },
  // --- inserts
  invalid_name: input(
    422,
    "Not a Name",
    "Names begin with a letter or `_`, then letters, digits, `_`, `-`, `.`; at most 128 characters, NFC.",
  ),
  name_too_long: limit(422, "A name is too long", "Shorten it; the limit is in `detail`."),
  reserved_name: input(
    422,
    "Reserved name",
    "`Memory` and `Version` are reserved types, `node` is a reserved attribute, `__proto__` names nothing.",
  ),
  invalid_attribute: input(
    422,
    "Attribute of a wrong kind",
    "Attributes are strings, finite numbers, booleans or lists of strings.",
  ),
  invalid_text: input(422, "Text that cannot be stored", "Remove NUL characters and lone surrogates."),
  invalid_xml: input(422, "Malformed XML", "Send one well-formed element without DTD and entities."),
  invalid_structure: input(
    422,
    "The insert does not fit the memory's structure",
    'Messages need a memory created with {"structure": "conversation"}; any structure takes a tree. It can be changed while the memory is empty.',
  ),
  too_many_nodes: limit(422, "Too many nodes in one insert", "Split the insert."),
  tree_too_deep: limit(422, "The tree is too deep", "Flatten it; the limit is in `detail`."),
  too_many_children: limit(422, "Too many children", "Group them under intermediate nodes."),
  too_many_attributes: limit(422, "Too many attributes", "Move details to child nodes."),
  attribute_too_large: limit(422, "An attribute is too large", "Split the text over child nodes."),
  label_too_large: limit(422, "A label's value is too large", "Keep to the limit in `detail`."),
  too_many_labels: limit(422, "Too many labels", "Keep to the limit in `detail`."),
  // --- queries
  syntax_error: input(
    400,
    "Syntax error in the query",
    "The caret shows where; `expected` says what could stand there.",
  ),
  position_zero: input(400, "Positions begin at 1", "Use [1] for the first node, [-1] for the last."),
  position_after_predicate: input(
    400,
    "A position cannot follow a predicate",
    "Start a new step, or cut by score with topK.",
  ),
  mean_count: input(400, "The divisor is not the number of terms", "Divide a mean of n terms by n."),
  query_too_long: limit(400, "The query is too long", "Shorten it."),
  too_many_steps: limit(400, "Too many steps", "Use fewer steps; `//` skips levels."),
  query_too_deep: limit(400, "The query nests too deeply", "Flatten it."),
  too_many_aggregates: limit(400, "Too many aggregates", "Use fewer aggregates, or several queries."),
  too_much_evidence: limit(
    422,
    "Too much evidence",
    "Aggregate over fewer nodes: name types, use `/` instead of `//`, or put predicates on the last step only.",
  ),
  too_many_predicates: limit(400, "Too many predicates in one step", "Multiply them inside one bracket."),
  string_too_long: limit(400, "A string literal is too long", "Shorten the condition."),
  topk_too_large: limit(400, "topK is too large", "Ask for fewer rows."),
  unknown_type: input(422, "Unknown node type", "GET /v1/memories/:id/schema lists the types."),
  unknown_attribute: input(422, "Unknown attribute", "GET /v1/memories/:id/schema lists the attributes."),
  unknown_scorer: input(422, "Unknown scorer", "Scorers are similarity, entailment, lexical, hybrid."),
  // --- models and stores
  scorer_unavailable: {
    category: "unavailable",
    status: 503,
    retryable: false,
    title: "The scorer has no model",
    advice: "Configure ENTAILMENT_PROVIDER (see the README), or use another scorer.",
  },
  model_unusable: {
    category: "unavailable",
    status: 503,
    retryable: false,
    title: "A local model cannot be used",
    advice: "`bin/espalier doctor` says what its folder lacks. Put the files there, or configure another model.",
  },
  model_unavailable: unavailable("The model server cannot be reached", "Retry later; check the model server."),
  model_overloaded: unavailable("The model server is overloaded", "Retry later."),
  model_out_of_memory: unavailable(
    "The model ran out of memory",
    "Retry later; give the model more memory, or send shorter texts.",
  ),
  model_timeout: unavailable("The model did not answer in time", "Retry later; check the model server."),
  model_bad_output: {
    category: "unavailable",
    status: 502,
    retryable: true,
    title: "The model answered something unusable",
    advice: "Check the model server and its configuration.",
  },
  model_dimension: {
    category: "unavailable",
    status: 502,
    retryable: false,
    title: "The model's vectors have a wrong dimension",
    advice: "Check which model the server serves.",
  },
  model_unknown: input(422, "Unknown embedding model", "Use a model that this deployment is configured for."),
  model_refused: {
    category: "unavailable",
    status: 502,
    retryable: false,
    title: "The model server refused the request",
    advice: "Check the model's URL, name and key.",
  },
  store_unavailable: unavailable("The store cannot be reached", "Retry later."),
  store_refused: {
    category: "unavailable",
    status: 502,
    retryable: false,
    title: "The store refused the request",
    advice: "Report it with the request id; the store's log says more.",
  },
  queue_unavailable: unavailable("The queue cannot be reached", "Retry later."),
  // --- jobs
  queue_full: {
    category: "limit",
    status: 429,
    retryable: true,
    title: "The tenant has too much waiting",
    advice: "Retry after the time that Retry-After tells, or submit less at once.",
  },
  rate_limited: {
    category: "limit",
    status: 429,
    retryable: true,
    title: "The tenant sends too many requests",
    advice: "Wait as long as Retry-After tells; RateLimit says how much is left.",
  },
  quota_exceeded: {
    category: "limit",
    status: 429,
    retryable: false,
    title: "The tenant has as much as it may",
    advice: "Delete memories or keys that are no longer needed, or ask for a higher quota; `limit` says which it is.",
  },
  too_many_idempotency_keys: {
    category: "limit",
    status: 429,
    retryable: true,
    title: "Too many idempotency keys are remembered",
    advice: "Send the request without the header, or wait as long as Retry-After tells.",
  },
  too_many_streams: {
    category: "limit",
    status: 429,
    retryable: true,
    title: "Too many event streams",
    advice: "Close streams, or poll GET /v1/jobs/:id.",
  },
  too_many_waits: {
    category: "limit",
    status: 429,
    retryable: true,
    title: "Too many requests wait for their jobs",
    advice: "Send `Prefer: wait=0` and follow the job, or retry later.",
  },
  webhook_url_refused: input(
    422,
    "The webhook's URL is not allowed",
    "Use an https URL of a public host; whoever runs the deployment can allow others.",
  ),
  webhook_disabled: {
    category: "conflict",
    status: 409,
    retryable: false,
    title: "The webhook is disabled",
    advice: 'Mend what `disabled` names, then PATCH the webhook with {"enabled": true}.',
  },
  too_many_webhooks: {
    category: "conflict",
    status: 409,
    retryable: false,
    title: "Too many webhooks",
    advice: "Delete one, or widen another's events.",
  },
  cancelled: {
    category: "conflict",
    status: 409,
    retryable: false,
    title: "The job was cancelled",
    advice: "Submit it again if it is still wanted.",
  },
  unknown_job_kind: {
    category: "internal",
    status: 500,
    retryable: false,
    title: "A job without a handler",
    advice: "Deploy a worker that knows this job.",
  },
  internal: {
    category: "internal",
    status: 500,
    retryable: true,
    title: "Internal error",
    advice: "Retry; report the request id if it persists.",
  },
} as const satisfies Record<string, ErrorKind>;

/** The stable codes of errors. */
export type ErrorCode = keyof typeof ERRORS;

/** Options of an error: `details` go to the caller, `cause` to the log only. */
export interface ErrorOptions {
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** An error of the registry. */
export class EspalierError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "EspalierError";
    this.code = code;
    this.details = options.details ?? {};
  }

  get kind(): ErrorKind {
    return ERRORS[this.code];
  }
}

/** Anything thrown as an error of the registry: unknown throws become `internal` with the cause kept for the log. */
export function toEspalierError(thrown: unknown): EspalierError {
  if (thrown instanceof EspalierError) return thrown;
  return new EspalierError("internal", "Something went wrong on our side.", { cause: thrown });
}
