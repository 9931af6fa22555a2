import { idFromUuid } from "#core";
import type { Memory } from "../memory.js";

/** A memory with the defaults of a test. */
export function aMemory(changes: Partial<Memory> = {}): Memory {
  return {
    tenant: "default",
    id: idFromUuid("mem", "00000000-0000-7000-8000-000000000001"),
    name: "test",
    labels: {},
    structure: "artifact",
    templates: {},
    scoring: { scorer: "hybrid", a: 0.4, entailmentTemplate: "This is about {}." },
    embeddingModel: "bag-of-words",
    revision: 0,
    nodes: 0,
    tokens: 0,
    bytes: 0,
    schemaVersion: 0,
    createdAt: 0,
    updatedAt: 0,
    ...changes,
  };
}

/** The n-th job of a test. */
export function aJob(number: number): string {
  return idFromUuid("job", `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`);
}
