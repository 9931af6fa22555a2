import { expect, test } from "@jest/globals";
import type { ImportNode } from "./read-import.js";
import { runImport, type ImportClient } from "./run-import.js";

interface Sent {
  readonly tree?: ImportNode | readonly ImportNode[];
  readonly under?: string;
  readonly messages?: readonly unknown[];
  readonly conversation?: string;
}

/** A server that takes every insert and names its highest nodes by their order of arrival. */
class TakingClient implements ImportClient {
  readonly sent: Sent[] = [];
  readonly keys = new Set<string>();

  async call<T>(_path: string, call: { body?: unknown; headers?: Readonly<Record<string, string>> }): Promise<T> {
    this.sent.push(call.body as Sent);
    this.keys.add(call.headers?.["idempotency-key"] ?? "none");
    return { id: `job${this.sent.length}` } as T;
  }

  async followJob(id: string, onProgress: (progress: { done: number; total: number }) => void) {
    const last = this.sent.at(-1);
    const trees = last?.tree === undefined ? [] : Array.isArray(last.tree) ? last.tree : [last.tree];
    const roots = trees.map((_tree, index) => `${id}-node${index + 1}`);
    onProgress({ done: 1, total: 2 });
    return {
      id,
      state: "completed" as const,
      progress: { done: 2, total: 2 },
      result: { revision: this.sent.length, inserted: 1, roots },
    };
  }
}

const leaves = (count: number): ImportNode[] =>
  Array.from({ length: count }, (_x, index) => ({ type: "Leaf", n: index }));

const importing = async (client: TakingClient, content: Parameters<typeof runImport>[0]["content"]) => {
  const progress: [number, number][] = [];
  const summary = await runImport({
    client,
    memory: "mem_1",
    content,
    onProgress: (done, total) => progress.push([done, total]),
  });
  return { summary, progress };
};

test("a small tree is one insert, with an idempotency key", async () => {
  const client = new TakingClient();
  const root = { type: "Root", children: leaves(3) };
  const { progress } = await importing(client, { kind: "tree", roots: [root] });
  expect(client.sent).toEqual([{ tree: [root] }]);
  expect(client.keys.has("none")).toBe(false);
  expect(progress).toEqual([
    [2, 4],
    [4, 4],
  ]);
});

test("a tree over the batch comes in parts below its own node, in order and complete", async () => {
  const client = new TakingClient();
  const { summary } = await importing(client, {
    kind: "tree",
    roots: [{ type: "Root", attributes: { name: "r" }, children: leaves(12_000) }],
  });
  const [first, ...rest] = client.sent;
  expect(first).toEqual({ tree: { type: "Root", attributes: { name: "r" }, children: [] } });
  expect(rest.every((insert) => insert.under === "job1-node1")).toBe(true);
  const inserted = rest.flatMap((insert) => insert.tree as readonly ImportNode[]);
  expect(inserted.map((leaf) => leaf["n"])).toEqual(leaves(12_000).map((leaf) => leaf["n"]));
  expect(summary.jobs).toHaveLength(client.sent.length);
  expect(client.keys.size).toBe(client.sent.length);
});

test("messages come in batches of their conversation", async () => {
  const client = new TakingClient();
  const messages = Array.from({ length: 5_001 }, (_x, index) => ({ speaker: "A", text: String(index) }));
  await importing(client, {
    kind: "messages",
    transcript: [{ conversation: "x", messages }, { messages: messages.slice(0, 1) }],
  });
  expect(client.sent.map((insert) => [insert.conversation, insert.messages?.length])).toEqual([
    ["x", 5_000],
    ["x", 1],
    [undefined, 1],
  ]);
});
