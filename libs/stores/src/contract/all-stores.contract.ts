import type { OpenEmpty } from "./fixtures.js";
import { describeAgainstReference } from "./reference.contract.js";
import { describeLexicalIndex, describeVectorStore } from "./search.contract.js";
import { describeCacheStore, describeSideStores } from "./side-stores.contract.js";
import { describeTenantStore } from "./tenant-store.contract.js";
import { describeTreeStore } from "./tree-store.contract.js";

/** The whole contract: a suite per port, and every read against the reference, over `histories` random ones. */
export function describeStores(name: string, open: OpenEmpty, histories?: number): void {
  describeTreeStore(name, open);
  describeVectorStore(name, open);
  describeLexicalIndex(name, open);
  describeCacheStore(name, open);
  describeSideStores(name, open);
  describeTenantStore(name, open);
  describeAgainstReference(name, open, histories);
}
