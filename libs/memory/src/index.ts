export type * from "./results.js";
export type * from "./memory.js";
export type * from "./ports/side-stores.js";
export type * from "./ports/tree-store.js";
export type * from "./ports/vector-store.js";
