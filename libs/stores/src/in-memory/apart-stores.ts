import type { Clock, MemoryScope } from "#core";
import type { ChangeSet, CommitResult, DeletionCounts, Outbox, PointInventory, VectorPoint } from "#memory";
import type { PointLedger } from "../distributed/point-ledger.js";
import { DEFAULT_CACHE_LIMITS, type Stores } from "../stores.js";
import { InMemoryLexicalIndex } from "./lexical-index.js";
import { InMemoryOutbox } from "./outbox.js";
import { InMemoryPointLedger } from "./point-ledger.js";
import { InMemoryPoints } from "./points.js";
import { InMemoryBlobStore, InMemoryCacheStore, InMemoryKeyStore } from "./side-stores.js";
import { OutboxTables, Tables } from "./tables.js";
import { InMemoryTenantStore } from "./tenant-store.js";
import { InMemoryTreeStore } from "./tree-store.js";
import { checkDimensions } from "./vector-store.js";

/** In-memory stores whose vectors lie apart from the trees, as in the distributed profile. */
export interface ApartStores extends Stores {
  readonly apart: { readonly outbox: Outbox; readonly points: PointInventory };
  readonly ledger: PointLedger;
  /** Puts a point in the vector set behind everyone's back, whatever the tree says. */
  plant(scope: MemoryScope, point: VectorPoint & { readonly died?: number }): void;
}

/**
 * The reference of the distributed profile: a commit writes outbox rows and no vectors, points are a set of their own that
 * is corrupted at will. Leases end by the clock that is given. For tests.
 */
export function inMemoryApartStores(clock: Clock): ApartStores {
  const outboxTables = new OutboxTables(clock);
  const tables = new Tables(outboxTables);
  const ledger = new InMemoryPointLedger(tables, outboxTables);
  const outbox = new InMemoryOutbox(tables, outboxTables);
  const points = new InMemoryPoints(tables, ledger);
  return {
    tree: new ApartTreeStore(tables, points),
    vectors: points,
    lexical: new InMemoryLexicalIndex(tables),
    caches: new InMemoryCacheStore(tables, DEFAULT_CACHE_LIMITS),
    blobs: new InMemoryBlobStore(tables),
    keys: new InMemoryKeyStore(tables),
    tenants: new InMemoryTenantStore(tables),
    apart: { outbox, points },
    ledger,
    plant: (scope, point) => {
      tables.setPoints(scope, [...tables.pointsOf(scope), point]);
    },
    ping: async () => {
      tables.checkOpen();
    },
    close: async () => {
      tables.closed = true;
    },
  };
}

/** Brings both sides into step where a caller has what the other side needs. */
class ApartTreeStore extends InMemoryTreeStore {
  constructor(
    private readonly apart: Tables,
    private readonly points: InMemoryPoints,
  ) {
    super(apart);
  }

  override async commit(scope: MemoryScope, change: ChangeSet): Promise<CommitResult> {
    checkDimensions(
      this.apart.pointsOf(scope),
      change.vectors.map((point) => ({ ...point, born: 0 })),
    );
    const done = await super.commit(scope, { ...change, vectors: [] });
    const vectors = change.vectors.map((point) => ({ ...point, born: done.revision }));
    if (!done.repeated && vectors.length > 0) await this.points.upsert(scope, vectors);
    return done;
  }

  override async deleteMemory(scope: MemoryScope): Promise<DeletionCounts> {
    const counts = await super.deleteMemory(scope);
    return { ...counts, vectors: await this.points.purge(scope) };
  }
}
