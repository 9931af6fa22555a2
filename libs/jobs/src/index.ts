export * from "./payloads.js";
export type * from "./types.js";
