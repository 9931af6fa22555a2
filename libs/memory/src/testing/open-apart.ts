import { inMemoryApartStores, type ApartStores } from "#stores";
import { Inserter } from "../growers/insert.js";
import type { InsertRequest } from "../growers/insert-request.js";
import { liesApart, type ApartServices } from "../outbox/apart-services.js";
import type { InsertResult } from "../results.js";
import { WriteQueue } from "../writing/write-queue.js";
import { aJob } from "./a-memory.js";
import { openServices, type TestServices } from "./open-services.js";
import type { MemoryScope } from "#core";

/** Services whose vectors lie apart, over in-memory stores, with a clock that the test sets. */
export interface TestApart extends TestServices {
  readonly services: ApartServices;
  readonly stores: ApartStores;
  /** The stores' clock. */
  readonly time: { now: number };
  /** Inserts nodes of type Day with these names, as a job of its own. */
  readonly insert: (scope: MemoryScope, names: readonly string[]) => Promise<InsertResult & { readonly job: string }>;
  /** Claims what is free of a tenant. */
  readonly claim: (id: string, tenant?: string) => Promise<number>;
}

export function openApart(): TestApart {
  const time = { now: 0 };
  const stores = inMemoryApartStores({ now: () => time.now });
  const opened = openServices({ stores });
  const { services } = opened;
  if (!liesApart(services)) throw new Error("The stores do not lie apart.");
  const inserter = new Inserter(services, new WriteQueue());
  let jobs = 0;
  return {
    ...opened,
    ...{ services, stores, time },
    insert: async (scope, names) => {
      const job = aJob((jobs += 1));
      const tree = names.map((name) => ({ type: "Day", attributes: { name } }));
      const request: InsertRequest = { tree };
      return { job, ...(await inserter.insert(scope, request, { jobId: job, time: jobs, author: "ten" })) };
    },
    claim: async (id, tenant = "default") => {
      const all = { id, rows: 1_000, tokens: Infinity, leaseMs: 1_000 };
      return (await services.apart.outbox.claim(tenant, all)).length;
    },
  };
}
