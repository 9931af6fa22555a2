export * from "./embedding-models.js";
export * from "./model-hooks.js";
export * from "./open-entailer.js";
export type { Patience } from "./server/call-server.js";
