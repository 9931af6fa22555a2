import type { ErrorCode } from "#core";
import { queryPayload } from "#jobs";
import { insertBody } from "../wire/insert.js";
import { liveShape, readyShape } from "../wire/health.js";
import { insertJobShape, jobListQuery, jobPage, jobShape } from "../wire/job.js";
import { createdKeyShape, deletedKeyShape, keyPage, newKeyBody } from "../wire/key.js";
import {
  deletedMemoryShape,
  memoryListQuery,
  memoryPage,
  memoryPatchBody,
  memoryShape,
  newMemoryBody,
  patchedMemoryShape,
} from "../wire/memory.js";
import { explainBody, explainShape, parseBody, parseShape, queryResultShape } from "../wire/query.js";
import { paging } from "../wire/text.js";
import { schemaShape, treePage, treeQuery } from "../wire/tree.js";
import type { Operation } from "./operation.js";

const MEMORY = "/v1/memories/:memory";
const JOB = "/v1/jobs/:job";

/** What the parser can refuse. */
const SYNTAX = [
  ...(["syntax_error", "position_zero", "position_after_predicate", "mean_count"] as const),
  ...([
    "query_too_long",
    "query_too_deep",
    "too_many_steps",
    "too_many_predicates",
    "too_many_aggregates",
    "string_too_long",
  ] as const),
] as const satisfies readonly ErrorCode[];

const LATER = { description: "The job goes on; `Location` says where to follow it.", schema: jobShape } as const;

/** Every route of the API. What is not here does not exist: it answers 404 and is absent from OpenAPI. */
export const OPERATIONS = {
  createMemory: {
    id: "createMemory",
    method: "POST",
    path: "/v1/memories",
    tag: "memories",
    summary: "Create a memory",
    scope: "write",
    body: newMemoryBody,
    responses: { 201: { description: "The memory.", schema: memoryShape } },
    errors: ["invalid_text", "invalid_name", "too_many_labels", "unknown_scorer", "model_unknown"],
  },
  listMemories: {
    id: "listMemories",
    method: "GET",
    path: "/v1/memories",
    tag: "memories",
    summary: "List memories, newest first, by labels (`label.user=u1`) and name",
    scope: "read",
    query: memoryListQuery,
    responses: { 200: { description: "A page of memories.", schema: memoryPage } },
    errors: ["invalid_cursor"],
  },
  getMemory: {
    id: "getMemory",
    method: "GET",
    path: MEMORY,
    tag: "memories",
    summary: "Read a memory's settings and counts",
    scope: "read",
    responses: { 200: { description: "The memory.", schema: memoryShape } },
    errors: ["memory_not_found"],
  },
  patchMemory: {
    id: "patchMemory",
    method: "PATCH",
    path: MEMORY,
    tag: "memories",
    summary: "Change a memory's settings; new templates or another embedding model start a maintain job",
    scope: "write",
    body: memoryPatchBody,
    responses: {
      200: { description: "The memory, with the job that the change started.", schema: patchedMemoryShape },
    },
    errors: [
      "memory_not_found",
      "invalid_text",
      "invalid_name",
      "invalid_structure",
      "too_many_labels",
      "unknown_scorer",
      "model_unknown",
    ],
  },
  deleteMemory: {
    id: "deleteMemory",
    method: "DELETE",
    path: MEMORY,
    tag: "memories",
    summary: "Delete a memory with every row of it",
    scope: "write",
    responses: { 200: { description: "What was removed.", schema: deletedMemoryShape } },
    errors: ["memory_not_found"],
  },
  insert: {
    id: "insert",
    method: "POST",
    path: `${MEMORY}/insert`,
    tag: "memories",
    summary: "Insert a tree, XML or messages: a job",
    scope: "write",
    body: insertBody,
    waits: "write",
    idempotent: true,
    responses: { 200: { description: "The ended job, if the request waited.", schema: insertJobShape }, 202: LATER },
    errors: [
      "memory_not_found",
      "node_not_found",
      "invalid_name",
      "reserved_name",
      "invalid_attribute",
      "invalid_text",
      "invalid_xml",
      "invalid_structure",
      "too_many_nodes",
      "tree_too_deep",
      "too_many_children",
      "too_many_attributes",
      "attribute_too_large",
      "idempotency_conflict",
    ],
  },
  query: {
    id: "query",
    method: "POST",
    path: `${MEMORY}/query`,
    tag: "queries",
    summary: "Read nodes by Semantic XPath",
    scope: "read",
    body: queryPayload,
    waits: "read",
    responses: { 200: { description: "The rows.", schema: queryResultShape }, 202: LATER },
    errors: [
      "memory_not_found",
      ...SYNTAX,
      "topk_too_large",
      "unknown_scorer",
      "unknown_type",
      "too_much_evidence",
      "unknown_attribute",
      "scorer_unavailable",
    ],
  },
  getSchema: {
    id: "getSchema",
    method: "GET",
    path: `${MEMORY}/schema`,
    tag: "memories",
    summary: "Types, attributes and relations, as the data has them",
    scope: "read",
    responses: { 200: { description: "The schema.", schema: schemaShape } },
    errors: ["memory_not_found"],
  },
  getTree: {
    id: "getTree",
    method: "GET",
    path: `${MEMORY}/tree`,
    tag: "memories",
    summary: "Browse what lies below a node (or the root) in document order",
    scope: "read",
    query: treeQuery,
    responses: { 200: { description: "A page of nodes.", schema: treePage } },
    errors: ["memory_not_found", "node_not_found", "invalid_cursor"],
  },
  parseQuery: {
    id: "parseQuery",
    method: "POST",
    path: "/v1/query/parse",
    tag: "queries",
    summary: "The syntax tree and the canonical text of a query",
    scope: "read",
    body: parseBody,
    responses: { 200: { description: "The parsed query.", schema: parseShape } },
    errors: [...SYNTAX],
  },
  explainQuery: {
    id: "explainQuery",
    method: "POST",
    path: "/v1/query/explain",
    tag: "queries",
    summary: "The plan of a query; no node is read",
    scope: "read",
    body: explainBody,
    responses: { 200: { description: "The plan.", schema: explainShape } },
    errors: [...SYNTAX, "memory_not_found", "topk_too_large", "unknown_scorer", "unknown_type", "unknown_attribute"],
  },
  listJobs: {
    id: "listJobs",
    method: "GET",
    path: "/v1/jobs",
    tag: "jobs",
    summary: "List jobs, newest first; results are left out",
    scope: "read",
    query: jobListQuery,
    responses: { 200: { description: "A page of jobs.", schema: jobPage } },
    errors: ["invalid_cursor"],
  },
  getJob: {
    id: "getJob",
    method: "GET",
    path: JOB,
    tag: "jobs",
    summary: "A job with its result or its error",
    scope: "read",
    responses: { 200: { description: "The job.", schema: jobShape } },
    errors: ["job_not_found"],
  },
  cancelJob: {
    id: "cancelJob",
    method: "DELETE",
    path: JOB,
    tag: "jobs",
    summary: "Cancel a job; cancelling a cancelled one changes nothing",
    scope: "write",
    responses: { 200: { description: "The job.", schema: jobShape } },
    errors: ["job_not_found", "job_finished"],
  },
  followJob: {
    id: "followJob",
    method: "GET",
    path: `${JOB}/events`,
    tag: "jobs",
    summary: "Follow a job as server-sent events; `Last-Event-ID` resumes",
    scope: "read",
    responses: {
      200: { description: "Events `state` and `progress`, each with the job as data.", mediaType: "text/event-stream" },
    },
    errors: ["job_not_found", "too_many_streams"],
  },
  createKey: {
    id: "createKey",
    method: "POST",
    path: "/v1/admin/keys",
    tag: "admin",
    summary: "Create an API key of the own tenant; its secret is shown once",
    scope: "admin",
    body: newKeyBody,
    responses: { 201: { description: "The key with its secret.", schema: createdKeyShape } },
    errors: ["invalid_text"],
  },
  listKeys: {
    id: "listKeys",
    method: "GET",
    path: "/v1/admin/keys",
    tag: "admin",
    summary: "List the API keys of the own tenant",
    scope: "admin",
    query: paging,
    responses: { 200: { description: "A page of keys.", schema: keyPage } },
    errors: ["invalid_cursor"],
  },
  deleteKey: {
    id: "deleteKey",
    method: "DELETE",
    path: "/v1/admin/keys/:key",
    tag: "admin",
    summary: "Revoke an API key; it stops working within a second",
    scope: "admin",
    responses: { 200: { description: "The key is gone.", schema: deletedKeyShape } },
    errors: ["key_not_found"],
  },
  live: {
    id: "live",
    method: "GET",
    path: "/health/live",
    tag: "operations",
    summary: "Whether the process answers",
    responses: { 200: { description: "It does.", schema: liveShape } },
    errors: [],
  },
  ready: {
    id: "ready",
    method: "GET",
    path: "/health/ready",
    tag: "operations",
    summary: "Whether everything that the process needs answers",
    responses: {
      200: { description: "All dependencies are up.", schema: readyShape },
      503: { description: "One is down.", schema: readyShape },
    },
    errors: [],
  },
  metrics: {
    id: "metrics",
    method: "GET",
    path: "/metrics",
    tag: "operations",
    summary: "Metrics for Prometheus",
    scope: "operator",
    responses: { 200: { description: "The text exposition format.", mediaType: "text/plain" } },
    errors: [],
  },
  openApi: {
    id: "openApi",
    method: "GET",
    path: "/openapi.json",
    tag: "operations",
    summary: "This document",
    responses: { 200: { description: "OpenAPI 3.1.", mediaType: "application/json" } },
    errors: [],
  },
} as const satisfies Readonly<Record<string, Operation>>;

/** The operations as a list. */
export const ALL_OPERATIONS: readonly Operation[] = Object.values(OPERATIONS);

const MATCHERS = ALL_OPERATIONS.map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/:[a-z]+/g, "[^/]+")}$`),
}));

/** The methods that exist for a path; empty for a path that does not exist. */
export function methodsOf(url: string): readonly string[] {
  const path = url.split("?", 1)[0] ?? "";
  return MATCHERS.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
}
