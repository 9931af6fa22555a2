import { randomUUID } from "node:crypto";
import { QdrantClient } from "@qdrant/js-client-rest";
import { systemClock } from "#core";
import type { TreeStore } from "#memory";
import type { PointLedger } from "../../distributed/point-ledger.js";
import { inMemoryApartStores } from "../../in-memory/apart-stores.js";
import type { Stores } from "../../stores.js";
import type { QdrantSettings } from "../connection.js";
import { openQdrant, type QdrantStores } from "../open-qdrant.js";

/** In-memory trees whose points lie in a Qdrant, in collections of their own. */
export interface QdrantOverInMemory extends Stores {
  readonly qdrant: QdrantStores;
  readonly ledger: PointLedger;
  readonly settings: QdrantSettings;
  /** Removes the collections that were made. */
  drop(): Promise<void>;
}

/** Fresh, empty stores. A commit brings its vectors to Qdrant; a deletion takes them away.  */
export function qdrantOverInMemory(settings: QdrantSettings): QdrantOverInMemory {
  const trees = inMemoryApartStores(systemClock);
  const own = { collectionPrefix: `test-${randomUUID().slice(0, 8)}`, ...settings };
  const qdrant = openQdrant(own, trees.ledger);
  const { tree } = trees;
  const withPoints: Pick<TreeStore, "commit" | "deleteMemory"> = {
    commit: async (scope, change) => {
      const done = await tree.commit(scope, { ...change, vectors: [] });
      const points = change.vectors.map((point) => ({ ...point, born: done.revision }));
      if (!done.repeated) await qdrant.vectors.upsert(scope, points);
      return done;
    },
    deleteMemory: async (scope) => {
      const counts = await tree.deleteMemory(scope);
      return { ...counts, vectors: await qdrant.points.purge(scope) };
    },
  };
  return {
    ...trees,
    tree: new Proxy(tree, {
      get: (target, name): unknown => {
        const value: unknown = Reflect.get(withPoints, name) ?? Reflect.get(target, name);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    }),
    vectors: qdrant.vectors,
    lexical: qdrant.lexical,
    apart: { outbox: trees.apart.outbox, points: qdrant.points },
    qdrant,
    settings: own,
    drop: async () => {
      const headers = settings.apiKey === undefined ? {} : { "api-key": settings.apiKey };
      const client = new QdrantClient({ url: settings.url, headers, checkCompatibility: false });
      const { collections } = await client.getCollections();
      for (const { name } of collections) {
        if (name.startsWith(`${own.collectionPrefix}-`)) await client.deleteCollection(name);
      }
    },
    ping: async () => {
      await trees.ping();
      await qdrant.ping();
    },
    close: async () => {
      qdrant.close();
      await trees.close();
    },
  };
}
