/**
 * Unit (`x.spec.ts`), integration (`x.int.spec.ts`) and end-to-end tests (test/) in one run. ESM under Jest: SWC compiles,
 * `#lib` imports resolve to the sources through a condition of ours.
 */
import { statfsSync } from "node:fs";

/** Databases flush each commit, which takes milliseconds on a disk. No test is about what a disk does: their folders lie in memory. */
const MEMORY_FOLDER = "/dev/shm";
/** The suites take some 300 MB at once. */
const MEMORY_BYTES = 4 * 1024 ** 3;
if (process.env.TMPDIR === undefined && roomIn(MEMORY_FOLDER) >= MEMORY_BYTES) process.env.TMPDIR = MEMORY_FOLDER;

/** Free bytes of a folder; 0 if it is not there. */
function roomIn(folder) {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

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
