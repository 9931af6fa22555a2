/**
 * Appends messages to a conversation: Conversation{name} -> Session{name, time} -> Turn{speaker, text, time}.
 *
 * The conversation is the last one of that name, or a new one. A message that names a session goes to the last one of that
 * name in the conversation, or begins it. A message without one goes to the current session: that of the message before it
 * in the request, at first that of the turn that was stored last. It begins a session of its own when there is none, or when its
 * time is 30 minutes or more after the last turn of the current one; a turn or a message without a time measures no gap.
 * Such sessions are named `session-N`, the N-th of their conversation. A session's time is that of its first message. Order
 * is arrival, whatever the times say.
 */
import {
  type Attributes,
  type AttributeValue,
  derivedNodeId,
  LIMITS,
  type MemoryScope,
  type NodeKey,
  type NodeState,
} from "#core";
import type { Memory } from "../memory.js";
import { tooManyChildren } from "../model/check-tree.js";
import { childPath, keysAfter, positionKeyOf } from "../model/position-keys.js";

import type { PlannedNode } from "../writing/planned-node.js";
import type { Message } from "./insert-request.js";
import type { Plan, PlanningReads } from "./plan.js";

/** Silence after which a new session begins. */
const SESSION_GAP_MS = 30 * 60 * 1_000;

type Parent = Pick<NodeKey, "id" | "pathKey" | "depth">;

/** A node that gets children: one that is there, or one that this insert makes. */
interface Branch {
  readonly existing: Parent | undefined;
  readonly attributes: Attributes;
  /** Children that are there already, and the position key of the last. */
  readonly count: number;
  readonly lastKey: string | undefined;
}

interface Session extends Branch {
  /** The messages that become its turns, with their numbers in the request. */
  readonly turns: { readonly message: Message; readonly ordinal: number }[];
  /** Milliseconds of the last turn, there or planned, if it has a time. */
  lastTime: number | undefined;
}

/**
 * Plans the turns, and the sessions and the conversation that are missing. Store reads: at most six, and two for each
 * session named in the request. O(messages).
 * @throws EspalierError `too_many_children`
 */
export async function planMessages(
  store: PlanningReads,
  memory: Memory,
  insert: { readonly conversation: string; readonly messages: readonly Message[] },
  jobId: string,
): Promise<Plan> {
  const scope: MemoryScope = { tenant: memory.tenant, memory: memory.id };
  const existing = await store.findChild(scope, null, {
    type: "Conversation",
    name: "name",
    value: insert.conversation,
  });
  const siblings = existing === undefined ? await store.lastChild(scope, null) : { count: 0 };
  checkWidth(siblings.count + 1, "conversation");
  const inside = existing === undefined ? { count: 0 } : await store.lastChild(scope, existing.id);
  const conversation: Branch = {
    existing,
    attributes: { name: insert.conversation },
    count: inside.count,
    lastKey: keyOf(inside.last),
  };
  const sessions = new Sessions(store, memory, conversation, inside.last);
  for (const [ordinal, message] of insert.messages.entries()) await sessions.add(message, ordinal);
  const conversationKey = keysAfter(keyOf(siblings.last), 1)[0] ?? "";
  return placeNodes({ conversation, conversationKey, sessions: sessions.all, messages: insert.messages.length, jobId });
}

/** Decides to which session each message goes. */
class Sessions {
  /** In the order in which they were first needed. */
  readonly all: Session[] = [];
  readonly #byName = new Map<string, Session>();
  #current: Session | undefined;
  private readonly scope: MemoryScope;

  constructor(
    private readonly store: PlanningReads,
    private readonly memory: Memory,
    private readonly conversation: Branch,
    /** The conversation's last child. */
    private readonly last: NodeState | undefined,
  ) {
    this.scope = { tenant: memory.tenant, memory: memory.id };
  }

  async add(message: Message, ordinal: number): Promise<void> {
    const session = message.session === undefined ? await this.#continue(message) : await this.#named(message);
    session.turns.push({ message, ordinal });
    session.lastTime = timeOf(message.time);
    this.#current = session;
  }

  async #named(message: Message): Promise<Session> {
    const name = message.session ?? "";
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const stored = await this.#stored(name);
    return stored === undefined ? this.#begin(name, message) : this.#open(stored);
  }

  async #stored(name: string): Promise<NodeState | undefined> {
    const parent = this.conversation.existing;
    return parent && this.store.findChild(this.scope, parent.id, { type: "Session", name: "name", value: name });
  }

  /** `session-N`, N being the place of the new session or, where a caller has taken that name, the next that is free. */
  async #freeName(): Promise<string> {
    const begun = this.all.filter((session) => session.existing === undefined).length;
    for (let number = this.conversation.count + begun + 1; ; number++) {
      const name = `session-${number}`;
      if (!this.#byName.has(name) && (await this.#stored(name)) === undefined) return name;
    }
  }

  async #continue(message: Message): Promise<Session> {
    const current = this.#current ?? (await this.#newest());
    if (current === undefined || isGap(current.lastTime, timeOf(message.time))) {
      return this.#begin(await this.#freeName(), message);
    }
    return current;
  }

  /** The session of the turn that was stored last; without turns, the last session. */
  async #newest(): Promise<Session | undefined> {
    const { id } = this.conversation.existing ?? {};
    const turn = id === undefined ? undefined : await this.store.newestGrandchild(this.scope, id, "Turn");
    const parents = turn?.parentId ? await this.store.nodes(this.scope, this.memory.revision, [turn.parentId]) : [];
    const session = [...parents, this.last].find((node) => node?.type === "Session");
    return session && this.#open(session);
  }

  #begin(name: string, message: Message): Session {
    const attributes = { name, ...(message.time !== undefined && { time: message.time }) };
    const session = { existing: undefined, attributes, count: 0, lastKey: undefined, turns: [], lastTime: undefined };
    this.all.push(session);
    this.#byName.set(name, session);
    return session;
  }

  async #open(node: NodeState): Promise<Session> {
    const opened = this.all.find((session) => session.existing?.id === node.id);
    if (opened !== undefined) return opened;
    const { count, last } = await this.store.lastChild(this.scope, node.id);
    const lastTime = timeOf(last?.attributes["time"]);
    const session = { existing: node, attributes: {}, count, lastKey: keyOf(last), turns: [], lastTime };
    this.all.push(session);
    const { name } = node.attributes;
    if (typeof name === "string") this.#byName.set(name, session);
    return session;
  }
}

/**
 * The new nodes with their keys. Ordinals: the turns are numbered like their messages, then comes the conversation, then
 * the sessions.
 */
function placeNodes(of: {
  readonly conversation: Branch;
  readonly conversationKey: string;
  readonly sessions: readonly Session[];
  readonly messages: number;
  readonly jobId: string;
}): Plan {
  const { conversation, sessions, messages, jobId } = of;
  const nodes: PlannedNode[] = [];
  let ordinal = messages;
  const branchNode = (type: string, parent: Parent | undefined, key: string, attributes: Attributes): Parent => {
    const node = childNode({ id: derivedNodeId(jobId, ordinal), type, parent, key, attributes, metadata: {} });
    ordinal += 1;
    nodes.push(node);
    return node;
  };
  const root =
    conversation.existing ?? branchNode("Conversation", undefined, of.conversationKey, conversation.attributes);
  const begun = sessions.filter((session) => session.existing === undefined);
  checkWidth(conversation.count + begun.length, "conversation");
  const turns: { readonly number: number; readonly node: PlannedNode }[] = [];
  const keys = keysAfter(conversation.lastKey, begun.length);
  const parents = new Map<Session, Parent>(
    begun.map((session, index) => [session, branchNode("Session", root, keys[index] ?? "", session.attributes)]),
  );
  for (const session of sessions) {
    const parent = session.existing ?? parents.get(session);
    checkWidth(session.count + session.turns.length, "messages");
    const turnKeys = keysAfter(session.lastKey, session.turns.length);
    for (const [position, { message, ordinal: number }] of session.turns.entries()) {
      const { speaker, text, time, metadata = {} } = message;
      const attributes = { speaker, text, ...(time !== undefined && { time }) };
      const key = turnKeys[position] ?? "";
      const id = derivedNodeId(jobId, number);
      turns.push({ number, node: childNode({ id, type: "Turn", parent, key, attributes, metadata }) });
    }
  }
  // Stored in the order of the messages, so that the newest turn is that of the last one.
  nodes.push(...turns.sort((one, other) => one.number - other.number).map(({ node }) => node));
  return { nodes, roots: rootsOf(nodes) };
}

function childNode(of: {
  readonly id: string;
  readonly type: string;
  readonly parent: Parent | undefined;
  readonly key: string;
  readonly attributes: Attributes;
  readonly metadata: Attributes;
}): PlannedNode {
  const { parent, key, ...node } = of;
  return {
    ...node,
    parentId: parent?.id ?? null,
    pathKey: childPath(parent?.pathKey ?? "", key),
    depth: (parent?.depth ?? 0) + 1,
  };
}

/** Ids of the nodes whose parents are not among them, in document order. */
function rootsOf(nodes: readonly PlannedNode[]): readonly string[] {
  const made = new Set(nodes.map(({ id }) => id));
  return nodes
    .filter(({ parentId }) => parentId === null || !made.has(parentId))
    .sort((one, other) => (one.pathKey < other.pathKey ? -1 : 1))
    .map(({ id }) => id);
}

function keyOf(node: NodeState | undefined): string | undefined {
  return node && positionKeyOf(node.pathKey);
}

function timeOf(value: AttributeValue | undefined): number | undefined {
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

function isGap(last: number | undefined, next: number | undefined): boolean {
  return last !== undefined && next !== undefined && next - last >= SESSION_GAP_MS;
}

function checkWidth(children: number, path: string): void {
  if (children > LIMITS.nodeChildren) throw tooManyChildren(children, { path });
}
