import { expect, test } from "@jest/globals";
import { Validator } from "@seriousme/openapi-schema-validator";
import { ALL_OPERATIONS, methodsOf } from "../http/operations.js";
import { openApiDocument } from "./open-api.js";

interface Operation {
  readonly operationId: string;
  readonly security: readonly object[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: object }> };
  readonly responses: Record<string, { readonly content: Record<string, { readonly schema: object }> }>;
}

const document = JSON.parse(JSON.stringify(openApiDocument())) as {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, { readonly additionalProperties?: unknown }> };
};

test("the document is a valid OpenAPI 3.1", async () => {
  const result = await new Validator().validate(structuredClone(document));
  expect(result.errors ?? []).toEqual([]);
  expect(result.valid).toBe(true);
  expect(document.openapi).toMatch(/^3\.1\./);
});

test("every reference leads somewhere", () => {
  const text = JSON.stringify(document);
  const names = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map((match) => match[1] ?? "");
  expect(names.length).toBeGreaterThan(20);
  for (const name of names) expect(Object.keys(document.components.schemas)).toContain(name);
});

test("it has exactly the operations that exist, each with a key unless it is open", () => {
  const told = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => `${method.toUpperCase()} ${path} ${operation.operationId}`),
  );
  const have = ALL_OPERATIONS.map(({ method, path, id }) => `${method} ${path.replaceAll(/:([a-z]+)/g, "{$1}")} ${id}`);
  expect(told.toSorted()).toEqual(have.toSorted());
  for (const operation of ALL_OPERATIONS) {
    const path = operation.path.replaceAll(/:([a-z]+)/g, "{$1}");
    const security = document.paths[path]?.[operation.method.toLowerCase()]?.security;
    expect({ id: operation.id, open: security?.length === 0 }).toEqual({
      id: operation.id,
      open: operation.scope === undefined,
    });
  }
});

test("what later issues bring is absent", () => {
  const paths = Object.keys(document.paths).join("\n");
  for (const part of ["edits", "search", "ask", "chat", "versions", "export", "import", "mcp", "queues"]) {
    expect(paths).not.toContain(part);
  }
});

test("requests refuse unknown fields, and the document says so", () => {
  for (const name of ["NewMemory", "MemoryPatch", "NewKey", "ParseRequest", "ExplainRequest"]) {
    expect({ name, more: document.components.schemas[name]?.additionalProperties }).toEqual({ name, more: false });
  }
});

test("an insert's tree is spelt out, as deep as it goes", () => {
  const { NewTree, Insert } = document.components.schemas as Record<string, unknown>;
  expect(JSON.stringify(Insert)).toContain('"#/components/schemas/NewTree"');
  expect(NewTree).toMatchObject({
    required: ["type"],
    additionalProperties: false,
    properties: { children: { type: "array", items: { $ref: "#/components/schemas/NewTree" } } },
  });
});

test("each operation has problems as its errors", () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const statuses = Object.keys(operation.responses).filter((status) => status.startsWith("4"));
      expect({ path, method, has: statuses.length > 0 }).toEqual({ path, method, has: true });
      for (const status of statuses) {
        expect(Object.keys(operation.responses[status]?.content ?? {})).toEqual(["application/problem+json"]);
      }
    }
  }
});

test("methods of a path are known for 405, and unknown paths have none", () => {
  expect(methodsOf("/v1/memories?x=1")).toEqual(["POST", "GET"]);
  expect(methodsOf("/v1/memories/mem_x")).toEqual(["GET", "PATCH", "DELETE"]);
  expect(methodsOf("/v1/memories/mem_x/edits")).toEqual([]);
  expect(methodsOf("/openapiXjson")).toEqual([]);
});
