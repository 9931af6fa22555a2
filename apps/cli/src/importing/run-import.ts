import { randomUUID } from "node:crypto";
import type { ApiClient } from "../client/api-client.js";
import type { ImportContent, ImportNode } from "./read-import.js";

/** Nodes or messages of one insert: its job stays a matter of seconds, so that the progress moves and queries get in. */
const BATCH_NODES = 5_000;
/** JSON characters of one insert: far below the body's limit, whatever the encoding of the text. */
const BATCH_CHARACTERS = 4 * 1024 * 1024;

/** What an import needs of the API. */
export type ImportClient = Pick<ApiClient, "call" | "followJob">;

export interface ImportSummary {
  readonly inserted: number;
  readonly revision: number;
  readonly jobs: readonly string[];
}

/** How far an import is, in nodes (of messages: messages). */
export type OnImportProgress = (done: number, total: number) => void;

interface Run {
  readonly client: ImportClient;
  readonly memory: string;
  readonly total: number;
  readonly onProgress: OnImportProgress;
  done: number;
  inserted: number;
  revision: number;
  readonly jobs: string[];
}

/**
 * Imports what a file brings, in inserts of bounded size, one after the other so that the order of the file is the order
 * in the memory. A tree that is larger than one insert comes in parts: a large node first without its children, then its
 * children below it. Each insert has an Idempotency-Key, so a repeated request inserts once.
 */
export async function runImport(options: {
  readonly client: ImportClient;
  readonly memory: string;
  readonly content: ImportContent;
  readonly onProgress: OnImportProgress;
}): Promise<ImportSummary> {
  const { client, memory, content, onProgress } = options;
  const run: Run = { client, memory, onProgress, total: sizeOf(content), done: 0, inserted: 0, revision: 0, jobs: [] };
  if (content.kind === "tree") await insertTrees(run, content.roots, undefined);
  else {
    for (const { conversation, messages } of content.transcript) {
      for (const batch of batchesOf(messages, () => 1)) {
        await insert(run, { ...(conversation !== undefined && { conversation }), messages: batch }, batch.length);
      }
    }
  }
  return { inserted: run.inserted, revision: run.revision, jobs: run.jobs };
}

function sizeOf(content: ImportContent): number {
  if (content.kind === "messages") return content.transcript.reduce((sum, part) => sum + part.messages.length, 0);
  return content.roots.reduce((sum, root) => sum + countNodes(root), 0);
}

async function insertTrees(run: Run, trees: readonly ImportNode[], under: string | undefined): Promise<void> {
  const below = under === undefined ? {} : { under };
  for (const batch of batchesOf(trees, countNodes)) {
    const [first] = batch;
    if (batch.length === 1 && first !== undefined && isTooLarge(first)) {
      const [id] = await insert(run, { tree: { ...first, children: [] }, ...below }, 1);
      await insertTrees(run, childrenOf(first), id);
    } else {
      await insert(
        run,
        { tree: batch, ...below },
        batch.reduce((sum, tree) => sum + countNodes(tree), 0),
      );
    }
  }
}

/** A node with children that is too large for one insert. One without children is the server's to refuse. */
function isTooLarge(tree: ImportNode): boolean {
  if (childrenOf(tree).length === 0) return false;
  return countNodes(tree) > BATCH_NODES || JSON.stringify(tree).length > BATCH_CHARACTERS;
}

/** Neighbours together as long as they fit; what does not fit with anything stands alone. */
function batchesOf<T>(items: readonly T[], nodes: (item: T) => number): readonly (readonly T[])[] {
  const batches: T[][] = [];
  let [size, characters] = [Infinity, 0];
  for (const item of items) {
    const [itemNodes, itemCharacters] = [nodes(item), JSON.stringify(item).length];
    if (size + itemNodes > BATCH_NODES || characters + itemCharacters > BATCH_CHARACTERS) {
      batches.push([]);
      [size, characters] = [0, 0];
    }
    batches.at(-1)?.push(item);
    size += itemNodes;
    characters += itemCharacters;
  }
  return batches;
}

/** One insert, followed to its end. @returns ids of its highest nodes */
async function insert(run: Run, body: object, nodes: number): Promise<readonly string[]> {
  const job = await run.client.call<{ readonly id: string }>(`/v1/memories/${run.memory}/insert`, {
    method: "POST",
    body,
    headers: { "idempotency-key": randomUUID() },
  });
  const ended = await run.client.followJob(job.id, ({ done, total }) => {
    // The job counts what it embeds; its share of the whole is that of its nodes.
    run.onProgress(run.done + (total === 0 ? 0 : Math.floor((done / total) * nodes)), run.total);
  });
  run.done += nodes;
  run.onProgress(run.done, run.total);
  run.jobs.push(job.id);
  run.inserted += ended.result?.inserted ?? 0;
  run.revision = ended.result?.revision ?? run.revision;
  return ended.result?.roots ?? [];
}

/** What is no list of children is the server's to refuse. */
function childrenOf(tree: ImportNode): readonly ImportNode[] {
  return Array.isArray(tree.children) ? (tree.children as readonly ImportNode[]) : [];
}

/** Nodes of a tree, itself included. The walk is a loop: files may be deeper than the call stack. */
function countNodes(tree: ImportNode): number {
  let count = 0;
  const open: ImportNode[] = [tree];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    count += 1;
    for (const child of childrenOf(node)) open.push(child);
  }
  return count;
}
