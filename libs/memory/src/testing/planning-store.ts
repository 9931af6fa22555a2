import type { NodeState } from "#core";
import type { Plan, PlanningReads } from "../growers/plan.js";

/** Plans one insert after the other against what the earlier ones made, without texts and revisions. */
export class PlanningStore implements PlanningReads {
  /** In document order. */
  states: readonly NodeState[] = [];
  /** Ids in the order in which they were stored. */
  readonly #stored: string[] = [];

  add({ nodes }: Plan): void {
    this.#stored.push(...nodes.map(({ id }) => id));
    const added = nodes.map((node) => ({ ...node, born: 1, text: "", tokens: 0 }));
    this.states = [...this.states, ...added].sort((one, other) => (one.pathKey < other.pathKey ? -1 : 1));
  }

  /** Each node as `depth type name-or-text`, in document order. */
  outline(): readonly string[] {
    return this.states.map(({ depth, type, attributes }) =>
      [depth, type, attributes["name"] ?? attributes["text"]].filter((part) => part !== undefined).join(" "),
    );
  }

  nodes: PlanningReads["nodes"] = async (_scope, _revision, ids) => this.states.filter(({ id }) => ids.includes(id));

  lastChild: PlanningReads["lastChild"] = async (_scope, parentId) => {
    const children = this.states.filter((state) => state.parentId === parentId);
    const last = children.at(-1);
    return { count: children.length, ...(last !== undefined && { last }) };
  };

  findChild: PlanningReads["findChild"] = async (_scope, parentId, { type, name, value }) =>
    this.states.findLast(
      (state) => state.parentId === parentId && state.type === type && state.attributes[name] === value,
    );

  newestGrandchild: PlanningReads["newestGrandchild"] = async (_scope, id, type) => {
    const children = this.states.filter(({ parentId }) => parentId === id).map((child) => child.id);
    const found = this.states.filter((state) => state.type === type && children.includes(state.parentId ?? ""));
    return found.toSorted((one, other) => this.#stored.indexOf(one.id) - this.#stored.indexOf(other.id)).at(-1);
  };
}
