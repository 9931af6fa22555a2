export * from "./clock.js";
export * from "./config.js";
export * from "./errors.js";
export * from "./file-variables.js";
export * from "./ids.js";
export * from "./limits.js";
export * from "./node.js";
export * from "./rounding.js";
