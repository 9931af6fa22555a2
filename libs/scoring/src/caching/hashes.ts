import { createHash } from "node:crypto";

/** SHA-256, hex, of parts that cannot run into each other. */
const sha256 = (...parts: readonly string[]): string =>
  createHash("sha256")
    .update(parts.map((part) => `${part.length}:${part}`).join("\n"))
    .digest("hex");

/** The key of a text's vector: SHA-256 of model id and text, hex. */
export function textHash(modelId: string, text: string): string {
  return sha256(modelId, text);
}

/** The key of an entailment value: SHA-256 of model, template, premise hash and condition, hex. */
export function entailmentHash(of: {
  readonly modelId: string;
  readonly template: string;
  readonly premise: string;
  readonly condition: string;
}): string {
  return sha256(of.modelId, of.template, sha256(of.premise), of.condition);
}
