export type * from "./ast.js";
export type * from "./ports.js";
