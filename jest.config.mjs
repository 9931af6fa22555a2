/** ESM under Jest: SWC compiles, `#lib` imports resolve to the sources through the "source" condition. */
export default {
  rootDir: ".",
  roots: ["<rootDir>/apps", "<rootDir>/libs", "<rootDir>/test", "<rootDir>/bench"],
  testMatch: ["**/*.spec.ts"],
  extensionsToTreatAsEsm: [".ts"],
  moduleNameMapper: {
    "^(\\.{1,2}/.*)\\.js$": "$1",
    // The package has TypeScript behind the "source" condition, which is ours here.
    "^eventsource-parser$": "<rootDir>/node_modules/eventsource-parser/dist/index.js",
  },
  transform: { "^.+\\.ts$": ["@swc/jest"] },
  testEnvironment: "<rootDir>/test/support/node-environment.mjs",
  testEnvironmentOptions: { customExportConditions: ["source", "node", "node-addons"] },
  modulePathIgnorePatterns: ["<rootDir>/dist/", "<rootDir>/.tools/"],
};
