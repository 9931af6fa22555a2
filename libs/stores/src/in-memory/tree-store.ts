import { isDescendantPath, type MemoryScope, NODE_FIELD, type NodeState } from "#core";
import type {
  ChangeSet,
  ChildPage,
  CommitResult,
  DeletionCounts,
  Memory,
  MemoryPatch,
  MemorySchema,
  NewMemory,
  TenantTotals,
  TreeStore,
} from "#memory";
import type { EvidenceRequest, EvidenceRow, RunRow, StatementTrace, StructuralRun } from "#query";
import { commit } from "./commit.js";
import { entomb, trackField } from "./outbox-rows.js";
import { schemaOf } from "./schema.js";
import { evidence, run } from "./structure.js";
import { keyOfScope, liveStates, type StoredState, type Tables } from "./tables.js";

/** Trees as arrays: every read looks at every node. */
export class InMemoryTreeStore implements TreeStore {
  constructor(private readonly tables: Tables) {}

  async createMemory(tenant: string, memory: NewMemory): Promise<Memory> {
    this.tables.checkOpen();
    const { id, createdAt } = memory;
    const key = keyOfScope({ tenant, memory: id });
    if (this.tables.memories.has(key)) throw new Error(`The memory ${id} exists.`);
    const created: Memory = {
      ...memory,
      ...{ tenant, revision: 0, nodes: 0, tokens: 0, bytes: 0, schemaVersion: 0, createdAt, updatedAt: createdAt },
    };
    this.tables.memories.set(key, {
      memory: structuredClone(created),
      states: [],
      revisions: 0,
      inbox: new Map(),
      tracked: this.tables.outbox === undefined ? [] : [{ model: memory.embeddingModel, field: NODE_FIELD }],
      terms: new Map(),
    });
    return created;
  }

  async totals(tenant: string): Promise<TenantTotals> {
    this.tables.checkOpen();
    const own = [...this.tables.memories.values()].filter(({ memory }) => memory.tenant === tenant);
    const sum = (of: "nodes" | "bytes"): number => own.reduce((total, { memory }) => total + memory[of], 0);
    return { memories: own.length, nodes: sum("nodes"), bytes: sum("bytes") };
  }

  async getMemory(scope: MemoryScope): Promise<Memory> {
    return this.tables.find(scope).memory;
  }

  async listMemories(
    tenant: string,
    { labels = {}, name, limit, after }: Parameters<TreeStore["listMemories"]>[1],
  ): Promise<readonly Memory[]> {
    this.tables.checkOpen();
    return [...this.tables.memories.values()]
      .map(({ memory }) => memory)
      .filter((memory) => memory.tenant === tenant && (name === undefined || memory.name === name))
      .filter((memory) => Object.entries(labels).every(([label, value]) => memory.labels[label] === value))
      .filter(({ id }) => after === undefined || id < after)
      .sort((left, right) => (left.id < right.id ? 1 : -1))
      .slice(0, limit);
  }

  async updateMemory(scope: MemoryScope, patch: MemoryPatch, time: number): Promise<Memory> {
    const stored = this.tables.find(scope);
    const { nextEmbeddingModel: before, ...memory } = stored.memory;
    const { nextEmbeddingModel = before ?? null, ...changes } = structuredClone(patch);
    stored.memory = {
      ...memory,
      ...changes,
      ...(nextEmbeddingModel !== null && { nextEmbeddingModel }),
      updatedAt: time,
    };
    const { outbox } = this.tables;
    const { embeddingModel: model } = stored.memory;
    if (outbox !== undefined) trackField(outbox, scope, stored, { model, field: NODE_FIELD });
    return stored.memory;
  }

  async deleteMemory(scope: MemoryScope): Promise<DeletionCounts> {
    const stored = this.tables.find(scope);
    const isOfMemory = (blob: { readonly tenant: string; readonly memory: string | undefined }): boolean =>
      blob.tenant === scope.tenant && blob.memory === scope.memory;
    const documents = [...stored.terms.values()].flatMap((field) => [...field.values()]);
    const counts = {
      nodes: stored.states.length,
      vectors: this.tables.outbox === undefined ? this.tables.pointsOf(scope).length : 0,
      terms: documents.reduce((sum, weights) => sum + weights.size, 0),
      revisions: stored.revisions,
      inbox: stored.inbox.size,
      blobs: this.tables.blobs.filter(isOfMemory).length,
    };
    this.tables.blobs = this.tables.blobs.filter((blob) => !isOfMemory(blob));
    this.tables.memories.delete(keyOfScope(scope));
    if (this.tables.outbox === undefined) this.tables.setPoints(scope, []);
    else entomb(this.tables.outbox, scope);
    return counts;
  }

  async schema(scope: MemoryScope): Promise<MemorySchema> {
    const { schemaVersion } = this.tables.find(scope).memory;
    return schemaOf(this.#head(scope), schemaVersion);
  }

  async commit(scope: MemoryScope, change: ChangeSet): Promise<CommitResult> {
    return commit(this.tables, scope, structuredClone(change));
  }

  async inbox(scope: MemoryScope, job: string, step: string): Promise<CommitResult | undefined> {
    const row = this.tables.find(scope).inbox.get(JSON.stringify([job, step]));
    return row && { revision: row.revision, repeated: true, result: row.result };
  }

  async run(
    scope: MemoryScope,
    revision: number,
    request: StructuralRun,
  ): Promise<{ readonly rows: readonly RunRow[]; readonly trace: StatementTrace }> {
    return traced(() => run(this.#live(scope, revision), request));
  }

  async evidence(
    scope: MemoryScope,
    revision: number,
    request: EvidenceRequest,
  ): Promise<{ readonly rows: readonly EvidenceRow[]; readonly trace: StatementTrace }> {
    return traced(() => evidence(this.#live(scope, revision), request));
  }

  async nodes(scope: MemoryScope, revision: number, ids: readonly string[]): Promise<readonly NodeState[]> {
    const live = this.#live(scope, revision);
    return ids.flatMap((id) => live.filter((state) => state.id === id)).map(withoutDeath);
  }

  async paths(scope: MemoryScope, revision: number, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const live = this.#live(scope, revision);
    const pathOf = (node: StoredState): string => {
      const siblings = live.filter(({ parentId, type }) => parentId === node.parentId && type === node.type);
      const parent = live.find(({ id }) => id === node.parentId);
      return `${parent === undefined ? "" : pathOf(parent)}/${node.type}[${siblings.indexOf(node) + 1}]`;
    };
    return new Map(live.filter(({ id }) => ids.includes(id)).map((node) => [node.id, pathOf(node)]));
  }

  async subtrees(
    scope: MemoryScope,
    revision: number,
    ids: readonly string[],
    limit: number,
  ): ReturnType<TreeStore["subtrees"]> {
    const live = this.#live(scope, revision);
    const roots = [...new Set(ids)].flatMap((id) => live.filter((state) => state.id === id));
    const nodes = new Map<string, readonly NodeState[]>();
    const truncated: string[] = [];
    let left = limit;
    for (const root of roots) {
      const subtree = live.filter((state) => state === root || isDescendantPath(state.pathKey, root.pathKey));
      nodes.set(root.id, subtree.slice(0, left).map(withoutDeath));
      if (subtree.length > left) truncated.push(root.id);
      left = Math.max(0, left - subtree.length);
    }
    return { nodes, truncated };
  }

  async children(
    scope: MemoryScope,
    revision: number,
    parentId: string | null,
    { limit, after = "" }: { readonly limit: number; readonly after?: string },
  ): Promise<ChildPage> {
    const live = this.#live(scope, revision);
    const rest = live.filter((state) => state.parentId === parentId && state.pathKey > after);
    const nodes = rest.slice(0, limit).map((state) => ({
      ...withoutDeath(state),
      children: live.filter((child) => child.parentId === state.id).length,
    }));
    const last = nodes.at(-1);
    return { nodes, ...(rest.length > limit && last !== undefined && { next: last.pathKey }) };
  }

  async lastChild(scope: MemoryScope, parentId: string | null): ReturnType<TreeStore["lastChild"]> {
    const children = this.#head(scope).filter((state) => state.parentId === parentId);
    const last = children.at(-1);
    return { count: children.length, ...(last !== undefined && { last: withoutDeath(last) }) };
  }

  async findChild(
    scope: MemoryScope,
    parentId: string | null,
    { type, name, value }: { readonly type: string; readonly name: string; readonly value: string },
  ): Promise<NodeState | undefined> {
    const found = this.#head(scope).findLast(
      (state) => state.parentId === parentId && state.type === type && state.attributes[name] === value,
    );
    return found && withoutDeath(found);
  }

  async newestGrandchild(scope: MemoryScope, id: string, type: string): Promise<NodeState | undefined> {
    const live = this.#head(scope);
    const children = new Set(live.filter(({ parentId }) => parentId === id).map((child) => child.id));
    const found = new Set(live.filter((state) => state.type === type && children.has(state.parentId ?? "")));
    const newest = this.tables.find(scope).states.findLast((state) => found.has(state));
    return newest && withoutDeath(newest);
  }

  async scan(
    scope: MemoryScope,
    { limit, after = "" }: { readonly after?: string; readonly limit: number },
  ): Promise<readonly NodeState[]> {
    return this.#head(scope)
      .filter(({ pathKey }) => pathKey > after)
      .slice(0, limit)
      .map(withoutDeath);
  }

  #live(scope: MemoryScope, revision: number): readonly StoredState[] {
    return liveStates(this.tables.find(scope), revision);
  }

  #head(scope: MemoryScope): readonly StoredState[] {
    return this.#live(scope, this.tables.find(scope).memory.revision);
  }
}

function traced<Row>(work: () => readonly Row[]): { readonly rows: readonly Row[]; readonly trace: StatementTrace } {
  const started = performance.now();
  const rows = work();
  const trace = { statement: "in memory, step by step", rows: rows.length, milliseconds: performance.now() - started };
  return { rows, trace };
}

function withoutDeath(stored: StoredState): NodeState {
  const { id, born, type, parentId, pathKey, depth, attributes, metadata, text, tokens } = stored;
  return { id, born, type, parentId, pathKey, depth, attributes, metadata, text, tokens };
}
