import type { JobKind } from "../types.js";

/** UTF-16 characters of JSON per token, roughly: what matters is that large work costs more than small work. */
const CHARACTERS_PER_TOKEN = 4;

/** Tokens that any job of a kind costs, beside those of its payload: reading a memory, or walking one. */
const BASE_TOKENS: Readonly<Record<JobKind, number>> = { query: 20, insert: 20, score: 0, maintain: 1_000 };

/** Estimated tokens of a job's work, by which tenants share the workers. O(payload). */
export function estimateCost(kind: JobKind, payloadCharacters: number): number {
  return BASE_TOKENS[kind] + Math.ceil(payloadCharacters / CHARACTERS_PER_TOKEN);
}
