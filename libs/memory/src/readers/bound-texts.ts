import { fieldText } from "#core";
import type { StateRef, TextSource } from "#scoring";
import type { TreeStore } from "../ports/tree-store.js";
import type { Snapshot } from "./snapshot.js";

/** The field texts of one memory at the revision of a query. */
export class BoundTexts implements TextSource {
  constructor(
    private readonly store: TreeStore,
    private readonly snapshot: Snapshot,
  ) {}

  async texts(field: string, states: readonly StateRef[]): Promise<readonly (string | undefined)[]> {
    const ids = states.map(({ id }) => id);
    const nodes = await this.store.nodes(this.snapshot.scope, this.snapshot.revision, ids);
    const byId = new Map(nodes.map((node) => [node.id, fieldText(node, field)]));
    return ids.map((id) => byId.get(id));
  }
}
