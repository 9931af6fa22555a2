import type { StateRef } from "./ports.js";

/** A state's name within its memory, for sets and maps. */
export function stateKey({ id, born }: StateRef): string {
  return `${id}@${born}`;
}
