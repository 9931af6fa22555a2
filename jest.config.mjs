/**
 * Unit (`x.spec.ts`), integration (`x.int.spec.ts`) and end-to-end tests (test/) in one run. ESM under Jest: SWC compiles,
 * `#lib` imports resolve to the sources through a condition of ours.
 */
// What outlives a worker of Jest (a database server) ends with this process.
process.env.ESPALIER_TEST_RUN = String(process.pid);

export default {
  rootDir: ".",
  roots: ["<rootDir>/apps", "<rootDir>/libs", "<rootDir>/test", "<rootDir>/bench"],
  testMatch: ["**/*.spec.ts"],
  testSequencer: "<rootDir>/test/support/longest-first.mjs",
  extensionsToTreatAsEsm: [".ts"],
  moduleNameMapper: { "^(\\.{1,2}/.*)\\.js$": "$1" },
  transform: { "^.+\\.ts$": ["@swc/jest"] },
  testEnvironment: "<rootDir>/test/support/node-environment.mjs",
  testEnvironmentOptions: { customExportConditions: ["espalier-source", "node", "node-addons"] },
  modulePathIgnorePatterns: ["<rootDir>/dist/", "<rootDir>/.tools/", "<rootDir>/.cache/"],
  cacheDirectory: "<rootDir>/.cache/jest",
  // Tests that start real processes need a core each; a machine of CI has two.
  maxWorkers: 2,
  // For real processes on a busy machine; a unit test never comes near it.
  testTimeout: 30_000,
  // Modules of ESM tests stay in memory until their worker ends.
  workerIdleMemoryLimit: "1GB",
};
