/**
 * A walk over the nodes below a node in document order, down to a depth, that can stop after any node and go on later.
 *
 * The walk is a stack of frames, one for each open level: whose children are told there, and after which path key. All
 * path keys of the stack are prefixes of that of the last node told, so a place is that key and the ids of the parents.
 */
import { PATH_SEPARATOR } from "#core";
import type { ChildPage } from "#memory";

type Child = ChildPage["nodes"][number];

/** Where a walk stands. */
export interface WalkPlace {
  /** Ids of the parents of the open levels below the first. */
  readonly parents: readonly string[];
  /** Path key of the last node told. */
  readonly after: string;
}

export interface WalkOptions {
  /** Whose descendants are told; `null` is the root. */
  readonly under: string | null;
  /** Depth of that node: 0 is the root. */
  readonly base: number;
  /** Levels below it, at least 1. */
  readonly depth: number;
  readonly limit: number;
  readonly from?: WalkPlace | undefined;
  /** One store call. */
  readonly children: (
    parent: string | null,
    page: { readonly limit: number; readonly after?: string },
  ) => Promise<ChildPage>;
}

interface Frame {
  readonly parent: string | null;
  after: string | undefined;
  /** Children that were read and not told yet. */
  buffer: readonly Child[];
  /** Whether there may be more behind the buffer. */
  more: boolean;
}

/** At most `limit` nodes, and where to go on if there are more. One store call for each node that is opened. */
export async function walkTree(
  options: WalkOptions,
): Promise<{ readonly nodes: readonly Child[]; readonly place?: WalkPlace }> {
  const stack = framesOf(options);
  const nodes: Child[] = [];
  for (;;) {
    const frame = stack.at(-1);
    if (frame === undefined) return { nodes };
    if (frame.buffer.length === 0 && frame.more) await fill(frame, options, options.limit - nodes.length);
    const [node, ...rest] = frame.buffer;
    if (node === undefined) {
      stack.pop();
      continue;
    }
    if (nodes.length === options.limit) return { nodes, place: placeOf(stack, nodes) };
    nodes.push(node);
    frame.buffer = rest;
    frame.after = node.pathKey;
    if (node.children > 0 && stack.length < options.depth) {
      stack.push({ parent: node.id, after: undefined, buffer: [], more: true });
    }
  }
}

/** Reads one child more than can be told, to know whether the walk goes on. */
async function fill(frame: Frame, options: WalkOptions, room: number): Promise<void> {
  const page = await options.children(frame.parent, {
    limit: room + 1,
    ...(frame.after !== undefined && { after: frame.after }),
  });
  frame.buffer = page.nodes;
  frame.more = page.next !== undefined;
}

function framesOf({ under, base, from }: WalkOptions): Frame[] {
  const keys = from?.after.split(PATH_SEPARATOR) ?? [];
  return [under, ...(from?.parents ?? [])].map((parent, level) => {
    const length = base + level + 1;
    const after = keys.length >= length ? keys.slice(0, length).join(PATH_SEPARATOR) : undefined;
    return { parent, after, buffer: [], more: true };
  });
}

function placeOf(stack: readonly Frame[], nodes: readonly Child[]): WalkPlace {
  const parents = stack.slice(1).flatMap(({ parent }) => (parent === null ? [] : [parent]));
  return { parents, after: nodes.at(-1)?.pathKey ?? "" };
}
