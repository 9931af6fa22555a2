import type { NodeState } from "#core";
import type { Plan, PlanningReads } from "../growers/plan.js";

/** Plans one insert after the other against what the earlier ones made, without texts and revisions. */
export class PlanningStore implements PlanningReads {
  /** In document order. */
  states: readonly NodeState[] = [];

  add({ nodes }: Plan): void {
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
}
