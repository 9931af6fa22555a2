import type { LexicalIndex, PointInventory } from "#memory";
import type { PointLedger } from "../distributed/point-ledger.js";
import { Collections } from "./collections.js";
import { QdrantConnection, type QdrantSettings } from "./connection.js";
import { QdrantLexicalIndex } from "./lexical-index.js";
import { QdrantPointInventory } from "./point-inventory.js";
import { PointPayloads } from "./point-payloads.js";
import { Standings } from "./standings.js";
import { QdrantVectorStore } from "./vector-store.js";

/** The ports that a Qdrant fills, beside trees that lie elsewhere. */
export interface QdrantStores {
  readonly vectors: QdrantVectorStore;
  readonly lexical: LexicalIndex;
  readonly points: PointInventory;
  /** Errors: `store_unavailable`. */
  ping(): Promise<void>;
  close(): void;
}

/** Opens without asking the server: it may come later. `ledger` says what points are made of and which are behind. */
export function openQdrant(settings: QdrantSettings, ledger: PointLedger): QdrantStores {
  const connection = new QdrantConnection(settings);
  const collections = new Collections(connection, settings);
  const payloads = new PointPayloads(connection, ledger);
  const standings = new Standings(ledger);
  const parts = { connection, collections, ledger, standings, payloads };
  return {
    vectors: new QdrantVectorStore(parts),
    lexical: new QdrantLexicalIndex(parts),
    points: new QdrantPointInventory(parts),
    ping: () => connection.ping(),
    close: () => {
      connection.close();
    },
  };
}
