/**
 * Who may import whom (docs/architecture.md). Every lib is entered through its index only; the pure libs see neither
 * frameworks nor drivers. test/tooling/imports.spec.ts plants a violation and sees it caught.
 */
const lib = (...names) => `^libs/(${names.join("|")})/`;

const only = (from, ...to) => ({
  name: `${from}-imports`,
  comment: `libs/${from} may import ${to.length === 0 ? "nothing of ours" : to.join(", ")}`,
  severity: "error",
  from: { path: lib(from) },
  to: { path: "^(libs|apps|bench|test|packages)/", pathNot: lib(from, ...to) },
});

/** Test code beside the sources may use reference adapters and fixtures. */
const notFromTests = (rule) => ({
  ...rule,
  from: { ...rule.from, pathNot: "(\\.spec\\.ts$|/src/testing/)" },
});

module.exports = {
  forbidden: [
    notFromTests(only("core")),
    notFromTests(only("query", "core")),
    notFromTests(only("scoring", "core")),
    notFromTests(only("memory", "query", "scoring", "core")),
    notFromTests(only("stores", "memory", "query", "scoring", "jobs", "core")),
    notFromTests(only("models", "memory", "query", "scoring", "core")),
    notFromTests(only("jobs", "core")),
    notFromTests(only("telemetry", "core")),
    {
      name: "libs-through-their-index",
      comment: "another lib is imported by its name (#query), never by a file inside it",
      severity: "error",
      from: { path: "^(apps|libs|bench)/([^/]+)/" },
      to: { path: "^libs/([^/]+)/src/(?!index\\.ts$)", pathNot: "^libs/$2/" },
    },
    {
      name: "pure-libs",
      comment: "query, scoring, memory and core import neither Nest, nor drivers, nor the system",
      severity: "error",
      from: { path: lib("core", "query", "scoring", "memory"), pathNot: "\\.spec\\.ts$" },
      to: {
        path: [
          "node_modules/(@nestjs|fastify|@fastify|bullmq|ioredis|neo4j-driver|@qdrant|onnxruntime-node|openai|sqlite-vec|prom-client|pino)/",
          "^(node:)?(sqlite|fs|fs/promises|net|http|https|child_process|worker_threads|process)$",
        ],
      },
    },
    {
      name: "libs-without-apps",
      severity: "error",
      from: { path: "^libs/" },
      to: { path: "^apps/" },
    },
    {
      name: "no-circular",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    { name: "not-to-unresolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
    {
      name: "no-dev-in-product",
      severity: "error",
      from: { path: "^(apps|libs)/", pathNot: "(\\.spec\\.ts$|/src/testing/|/src/contract/)" },
      to: { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only"] },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      conditionNames: ["espalier-source", "import", "require", "node", "default", "types"],
      exportsFields: ["exports"],
      extensions: [".ts", ".js", ".mjs", ".cjs", ".json"],
    },
  },
};
