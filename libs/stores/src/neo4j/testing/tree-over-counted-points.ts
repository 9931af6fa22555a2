import { EspalierError, type MemoryScope } from "#core";
import type { ChangeSet, CommitResult, DeletionCounts, TreeStore, VectorPoint } from "#memory";
import { inMemoryStores } from "../../in-memory/in-memory-stores.js";
import type { Stores } from "../../stores.js";
import { Neo4jBlobStore } from "../blob-store.js";
import type { Database } from "../database.js";
import { memoryKey } from "../memory-key.js";
import { Neo4jPointLedger } from "../point-ledger.js";
import { Neo4jTreeStore } from "../tree-store.js";

/**
 * Stores around Neo4j's trees for the suite of TreeStore alone: of a vector store there is only what that suite looks at,
 * how many points a memory has and that their dimensions agree.
 */
export function treeOverCountedPoints(database: Database): Stores {
  const ledger = new Neo4jPointLedger(database);
  const points = new Map<string, readonly Omit<VectorPoint, "born">[]>();
  const others = inMemoryStores();
  const pointsOf = (scope: MemoryScope): readonly Omit<VectorPoint, "born">[] => points.get(memoryKey(scope)) ?? [];
  class Tree extends Neo4jTreeStore implements TreeStore {
    override async commit(scope: MemoryScope, change: ChangeSet): Promise<CommitResult> {
      const all = [...pointsOf(scope), ...change.vectors];
      if (new Set(all.map(({ embedding }) => embedding.vector.length)).size > 1) {
        throw new EspalierError("model_dimension", "The vectors differ in length.");
      }
      const result = await super.commit(scope, change);
      points.set(memoryKey(scope), all);
      return result;
    }

    override async deleteMemory(scope: MemoryScope): Promise<DeletionCounts> {
      return { ...(await super.deleteMemory(scope)), vectors: pointsOf(scope).length };
    }
  }
  const vectors = Object.assign(Object.create(others.vectors) as Stores["vectors"], {
    fingerprint: async (scope: MemoryScope) => {
      await ledger.memory(scope);
      return { count: pointsOf(scope).length, hash: "" };
    },
  });
  const lexical = Object.assign(Object.create(others.lexical) as Stores["lexical"], {
    indexPage: (scope: MemoryScope, field: string) => ledger.indexPage(scope, field),
  });
  return {
    ...others,
    ...{ tree: new Tree(database), vectors, lexical, blobs: new Neo4jBlobStore(database) },
    ping: () => database.ping(),
    close: () => database.close(),
  };
}
