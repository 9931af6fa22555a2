import js from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist/", "node_modules/", ".tools/", ".models/", ".cache/", "coverage/", "**/*.cjs"] },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      "@typescript-eslint/no-extraneous-class": ["error", { allowWithDecorator: true }],
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "@typescript-eslint/prefer-readonly": "error",
      // Interfaces of ports are asynchronous even where one adapter is not.
      "@typescript-eslint/require-await": "off",
      "max-depth": ["error", 4],
      "max-params": ["error", 6],
      "no-console": "error",
    },
  },
  {
    files: ["**/*.mjs"],
    ...tseslint.configs.disableTypeChecked,
    languageOptions: {
      parserOptions: { projectService: false },
      globals: Object.fromEntries(
        ["AbortSignal", "URL", "console", "fetch", "performance", "process"].map((name) => [name, "readonly"]),
      ),
    },
  },
  {
    // Time, randomness and the environment are parameters there (docs/architecture.md).
    files: ["libs/{core,query,scoring,memory}/src/**/*.ts"],
    ignores: ["**/*.spec.ts", "**/src/testing/**", "libs/core/src/clock.ts"],
    rules: {
      "no-restricted-globals": ["error", { name: "process", message: "The environment is a parameter here." }],
      "no-restricted-properties": [
        "error",
        { object: "Math", property: "random", message: "Randomness is a parameter here." },
        { object: "Date", property: "now", message: "Time is a parameter here: take a Clock." },
        { object: "crypto", property: "randomUUID", message: "Ids are a parameter here: take an IdSource." },
      ],
      "no-restricted-syntax": [
        "error",
        {
          selector: "NewExpression[callee.name='Date'][arguments.length=0]",
          message: "Time is a parameter here: take a Clock.",
        },
        {
          selector: "MemberExpression[object.name='globalThis'][property.name='process']",
          message: "The environment is a parameter here.",
        },
      ],
    },
  },
  {
    files: ["**/*.spec.ts", "test/**/*.ts", "libs/stores/src/contract/**/*.ts"],
    rules: {
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
    },
  },
);
