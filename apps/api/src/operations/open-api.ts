import {
  createDocument,
  type ZodOpenApiMediaTypeObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
} from "zod-openapi";
import { z } from "zod";
import { ERRORS, type ErrorCode } from "#core";
import { isLimited, type Operation } from "../http/operation.js";
import { ALL_OPERATIONS } from "../http/operations.js";
import { problemShape } from "../wire/problem.js";
import { EXAMPLES } from "./examples.js";

/** Version of the API, the first part of its paths. */
const API_VERSION = "1.0.0";

const ALWAYS: readonly ErrorCode[] = ["invalid_request", "idempotency_not_supported", "internal"];
const WITH_BODY: readonly ErrorCode[] = ["malformed_json", "body_too_large", "unsupported_media_type"];
const WITH_KEY: readonly ErrorCode[] = [
  "unauthorized",
  "key_expired",
  "forbidden",
  "tenant_suspended",
  "store_unavailable",
];
const WITH_JOB: readonly ErrorCode[] = ["queue_unavailable"];
const WAITING: readonly ErrorCode[] = ["queue_full", "too_many_waits"];
const LIMITED: readonly ErrorCode[] = ["rate_limited"];

const TAGS = [
  { name: "memories", description: "Trees of typed nodes, and what goes into them." },
  { name: "queries", description: "Semantic XPath." },
  { name: "jobs", description: "Every insert and every query is a job." },
  { name: "webhooks", description: "The ends of jobs, told to a URL." },
  { name: "admin", description: "Tenants and API keys." },
  { name: "operations", description: "Health, metrics and this document." },
];

/** Every code that an operation can answer. */
function codesOf(operation: Operation): readonly ErrorCode[] {
  const usesJobs = operation.waits !== undefined || operation.tag === "jobs";
  const codes = [
    ...operation.errors,
    ...ALWAYS.filter((code) => code !== "idempotency_not_supported" || operation.idempotent === undefined),
    ...(operation.body === undefined ? [] : WITH_BODY),
    ...(operation.scope === undefined ? [] : WITH_KEY),
    ...(usesJobs ? WITH_JOB : []),
    ...(operation.waits === undefined ? [] : WAITING),
    ...(isLimited(operation) ? LIMITED : []),
  ];
  return [...new Set(codes)];
}

/** The problems of an operation as responses by status. */
function problemResponses(operation: Operation): ZodOpenApiOperationObject["responses"] {
  const byStatus = Map.groupBy(codesOf(operation), (code) => ERRORS[code].status);
  const own = Object.keys(operation.responses).map(Number);
  const others = [...byStatus].filter(([status]) => !own.includes(status));
  return Object.fromEntries(
    others
      .sort(([left], [right]) => left - right)
      .map(([status, codes]) => [
        String(status),
        {
          description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join("\n\n"),
          content: { "application/problem+json": { schema: problemShape } },
        },
      ]),
  );
}

function responsesOf(operation: Operation): ZodOpenApiOperationObject["responses"] {
  const good = Object.entries(operation.responses).map(([status, response], index) => {
    const mediaType = response.mediaType ?? "application/json";
    const schema = response.schema ?? {
      type: mediaType === "application/json" ? ("object" as const) : ("string" as const),
    };
    const example = index === 0 ? EXAMPLES[operation.id]?.answer : undefined;
    const content = { [mediaType]: { schema, ...(example !== undefined && { example }) } };
    return [status, { description: response.description, content }];
  });
  return { ...(Object.fromEntries(good) as ZodOpenApiOperationObject["responses"]), ...problemResponses(operation) };
}

function headersOf(operation: Operation): z.ZodObject | undefined {
  const waits = operation.waits && {
    Prefer: z
      .string()
      .optional()
      .meta({
        description: `\`wait=N\` seconds; ${operation.waits === "read" ? "30" : "0"} when absent, at most 120.`,
      }),
  };
  const idempotent = operation.idempotent && {
    "Idempotency-Key": z
      .string()
      .max(255)
      .optional()
      .meta({ description: `Same key and body: the same ${operation.idempotent}, for 24 h.` }),
  };
  const resumes = operation.id === "followJob" && {
    "Last-Event-ID": z.string().optional().meta({ description: "The last event that was seen." }),
  };
  const shape = { ...waits, ...idempotent, ...(resumes === false ? {} : resumes) };
  return Object.keys(shape).length === 0 ? undefined : z.object(shape);
}

function bodyOf({ id }: Operation, schema: z.ZodType): ZodOpenApiMediaTypeObject {
  const bodies = Object.entries(EXAMPLES[id]?.bodies ?? {});
  return { schema, examples: Object.fromEntries(bodies.map(([name, value]) => [name, { value }])) };
}

function needed({ scope, alsoScope }: Operation): string {
  const scopes = [scope, alsoScope].flatMap((one) => (one === undefined ? [] : [`\`${one}\``]));
  return `Needs the scope ${scopes.join(" or ")}.`;
}

function operationObject(operation: Operation): ZodOpenApiOperationObject {
  const names = [...operation.path.matchAll(/:([a-z]+)/g)].map((match) => match[1] ?? "");
  const header = headersOf(operation);
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    requestParams: {
      ...(names.length > 0 && { path: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))) }),
      ...(operation.query !== undefined && { query: operation.query }),
      ...(header !== undefined && { header }),
    },
    ...(operation.body !== undefined && {
      requestBody: { required: true, content: { "application/json": bodyOf(operation, operation.body) } },
    }),
    responses: responsesOf(operation),
    security: operation.scope === undefined ? [] : [{ key: [] }],
    ...(operation.scope !== undefined && { description: needed(operation) }),
  };
}

/** The OpenAPI 3.1 document of every operation, from the same schemas that check requests. */
export function openApiDocument() {
  const paths: ZodOpenApiPathsObject = {};
  for (const operation of ALL_OPERATIONS) {
    const path = operation.path.replaceAll(/:([a-z]+)/g, "{$1}");
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationObject(operation) };
  }
  return createDocument(
    {
      openapi: "3.1.1",
      info: {
        title: "Espalier",
        version: API_VERSION,
        description: "Memory for AI agents: typed trees in, Semantic XPath out. Errors are RFC 9457 problems.",
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      },
      servers: [{ url: "/" }],
      tags: TAGS,
      paths,
      components: { securitySchemes: { key: { type: "http", scheme: "bearer", description: "An API key." } } },
    },
    { allowEmptySchema: { unknown: true } },
  );
}
