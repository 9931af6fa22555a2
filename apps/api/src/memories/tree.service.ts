import { Inject, Injectable } from "@nestjs/common";
import { z } from "zod";
import { EspalierError, isId, LIMITS, type NodeState } from "#core";
import type { Memory, TreeStore } from "#memory";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import { decodeCursor, encodeCursor } from "../http/cursor.js";
import type { TreePageShape, TreeQuery } from "../wire/tree.js";
import { walkTree } from "./tree-walk.js";

/** Pages of one walk read the same revision, so that nothing is skipped or told twice. */
const treeCursor = z.strictObject({
  revision: z.number().int().min(0),
  under: z.string().max(128).nullable(),
  depth: z.number().int().min(1),
  place: z.strictObject({
    parents: z.array(z.string().max(128)).max(LIMITS.treeDepth),
    after: z.string().min(1),
  }),
});

/** The nodes of a memory for people who browse it. */
@Injectable()
export class TreeService {
  readonly #tree: TreeStore;

  constructor(@Inject(API_DEPENDENCIES) dependencies: ApiDependencies) {
    this.#tree = dependencies.tree;
  }

  /** @throws EspalierError `node_not_found`, `invalid_cursor` */
  async page(memory: Memory, query: TreeQuery): Promise<TreePageShape> {
    const scope = { tenant: memory.tenant, memory: memory.id };
    const { under = null, depth, limit } = query;
    const cursor = query.cursor === undefined ? undefined : decodeCursor(treeCursor, query.cursor);
    if (
      cursor !== undefined &&
      (cursor.under !== under || cursor.depth !== depth || cursor.revision > memory.revision)
    ) {
      throw new EspalierError("invalid_cursor", "The cursor belongs to another list.");
    }
    const revision = cursor?.revision ?? memory.revision;
    const base = under === null ? 0 : (await this.requireNode(memory, under, revision)).depth;
    const { nodes, place } = await walkTree({
      ...{ under, base, depth, limit, from: cursor?.place },
      children: (parent, page) => this.#tree.children(scope, revision, parent, page),
    });
    const paths = await this.#tree.paths(
      scope,
      revision,
      nodes.map(({ id }) => id),
    );
    return {
      revision,
      ...(under !== null && { under }),
      items: nodes.map(({ id, type, parentId, attributes, metadata, children }) => ({
        ...{ id, type, path: paths.get(id) ?? "", parent: parentId, children },
        attributes: attributes as Record<string, string | number | boolean | string[]>,
        metadata: metadata as Record<string, string | number | boolean | string[]>,
      })),
      ...(place !== undefined && { nextCursor: encodeCursor({ revision, under, depth, place }) }),
    };
  }

  /** @throws EspalierError `node_not_found` */
  async requireNode(memory: Memory, id: string, revision: number): Promise<NodeState> {
    const scope = { tenant: memory.tenant, memory: memory.id };
    const [found] = isId("nod", id) ? await this.#tree.nodes(scope, revision, [id]) : [];
    if (found === undefined) throw new EspalierError("node_not_found", "There is no such node in this memory.");
    return found;
  }
}
