import { Inject, Injectable } from "@nestjs/common";
import { z } from "zod";
import { EspalierError, isId } from "#core";
import type { Memory, TreeStore } from "#memory";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import { decodeCursor, encodeCursor } from "../http/cursor.js";
import type { TreePageShape, treeQuery } from "../wire/tree.js";

/** Pages of one walk read the same revision, so that nothing is skipped or told twice. */
const treeCursor = z.strictObject({
  revision: z.number().int().min(0),
  under: z.string().max(128).nullable(),
  after: z.string().min(1).max(8_192),
});

/** The nodes of a memory for people who browse it. */
@Injectable()
export class TreeService {
  readonly #tree: TreeStore;

  constructor(@Inject(API_DEPENDENCIES) dependencies: ApiDependencies) {
    this.#tree = dependencies.tree;
  }

  /** @throws EspalierError `node_not_found`, `invalid_cursor` */
  async page(memory: Memory, query: z.output<typeof treeQuery>): Promise<TreePageShape> {
    const scope = { tenant: memory.tenant, memory: memory.id };
    const under = query.under ?? null;
    const cursor = query.cursor === undefined ? undefined : decodeCursor(treeCursor, query.cursor);
    if (cursor !== undefined && (cursor.under !== under || cursor.revision > memory.revision)) {
      throw new EspalierError("invalid_cursor", "The cursor belongs to another list.");
    }
    const revision = cursor?.revision ?? memory.revision;
    if (under !== null) await this.requireNode(memory, under, revision);
    const page = await this.#tree.children(scope, revision, under, {
      limit: query.limit,
      ...(cursor !== undefined && { after: cursor.after }),
    });
    const paths = await this.#tree.paths(
      scope,
      revision,
      page.nodes.map((node) => node.id),
    );
    return {
      revision,
      ...(under !== null && { under }),
      items: page.nodes.map((node) => ({
        id: node.id,
        type: node.type,
        path: paths.get(node.id) ?? "",
        attributes: node.attributes as Record<string, string | number | boolean | string[]>,
        metadata: node.metadata as Record<string, string | number | boolean | string[]>,
        children: node.children,
      })),
      ...(page.next !== undefined && { nextCursor: encodeCursor({ revision, under, after: page.next }) }),
    };
  }

  /** @throws EspalierError `node_not_found` */
  async requireNode(memory: Memory, id: string, revision: number): Promise<void> {
    const scope = { tenant: memory.tenant, memory: memory.id };
    const found = isId("nod", id) ? await this.#tree.nodes(scope, revision, [id]) : [];
    if (found.length === 0) throw new EspalierError("node_not_found", "There is no such node in this memory.");
  }
}
