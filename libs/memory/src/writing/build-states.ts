import { setImmediate } from "node:timers/promises";
import { fieldText, type MemoryScope, NODE_FIELD } from "#core";
import { type Embedding, termWeights, throwIfAborted } from "#scoring";
import type { Memory } from "../memory.js";
import { nodeText, templatesOf } from "../model/node-text.js";
import { loadTokenCounter } from "../model/tokens.js";
import type { ChangeSet, NewState } from "../ports/tree-store.js";
import type { MemoryServices, RunContext } from "../services.js";
import type { PlannedNode } from "./planned-node.js";

/** Nodes whose tokens and terms are counted before other work of the process has its turn (some milliseconds). */
const NODES_PER_TURN = 200;

/** The parts of a change set that follow from the planned nodes. */
export type BuiltStates = Pick<ChangeSet, "states" | "vectors" | "terms" | "termFields">;

/**
 * Texts, token counts, vectors and term weights of planned nodes under a memory's settings. Where trees and vectors lie apart
 * there are no vectors: the commit writes outbox rows for them. Equal texts are embedded once;
 * the tenant's cache keeps vectors as they come, so that a killed job resumes. The shortest texts go first, which leaves the
 * model little padding. Cost: the model's, plus O(length) for tokens and terms, counted while the model works.
 */
export async function buildStates(
  services: MemoryServices,
  memory: Memory,
  nodes: readonly PlannedNode[],
  context: RunContext,
): Promise<BuiltStates> {
  throwIfAborted(context.signal);
  const scope = { tenant: memory.tenant, memory: memory.id };
  const templates = templatesOf(memory);
  const texts = nodes.map((node) => nodeText(node, templates));
  const [embeddings, counted] = await Promise.all([
    embedTexts(services, memory, texts, context),
    countTexts(services, scope, nodes, texts),
  ]);
  const vectors: ChangeSet["vectors"][number][] = [];
  for (const [index, node] of nodes.entries()) {
    const embedding = embeddings.get(texts[index] ?? "");
    if (embedding !== undefined) {
      vectors.push({ id: node.id, field: NODE_FIELD, model: memory.embeddingModel, embedding });
    }
  }
  return { ...counted, vectors };
}

async function embedTexts(
  services: MemoryServices,
  memory: Memory,
  texts: readonly string[],
  { signal, progress }: RunContext,
): Promise<ReadonlyMap<string, Embedding>> {
  if (services.apart !== undefined) return new Map();
  const wanted = [...new Set(texts)].filter((text) => text !== "").sort((one, other) => one.length - other.length);
  if (wanted.length === 0) return new Map();
  const embedder = await services.embeddingModels.get(memory.embeddingModel);
  const { embeddings } = await embedder.embed(wanted, {
    signal,
    cache: services.caches.embeddings(memory.tenant),
    onProgress: (done, total) => progress?.(Math.floor((done / total) * texts.length), texts.length),
  });
  return new Map(embeddings.map((embedding, index) => [wanted[index] ?? "", embedding]));
}

async function countTexts(
  services: MemoryServices,
  scope: MemoryScope,
  nodes: readonly PlannedNode[],
  texts: readonly string[],
): Promise<Pick<ChangeSet, "states" | "terms" | "termFields">> {
  const countTokens = await loadTokenCounter();
  const fields = new Set([NODE_FIELD, ...(await services.lexical.fields(scope))]);
  const states: NewState[] = [];
  const terms: ChangeSet["terms"][number][] = [];
  for (const [index, node] of nodes.entries()) {
    if (index % NODES_PER_TURN === NODES_PER_TURN - 1) await setImmediate();
    const text = texts[index] ?? "";
    const state = { ...node, text, tokens: countTokens(text) };
    states.push(state);
    for (const field of fields) {
      const fieldValue = fieldText(state, field) ?? "";
      if (fieldValue !== "") terms.push({ id: node.id, field, weights: termWeights(fieldValue) });
    }
  }
  return { states, terms, termFields: [...fields] };
}
