import { expect, test } from "@jest/globals";
import { NODE_FIELD, systemClock } from "#core";
import { change, embedding, grow, MODEL, SCOPE, state } from "../contract/fixtures.js";
import { describeOutbox } from "../contract/outbox.contract.js";
import { describeVectorStore } from "../contract/search.contract.js";
import { describeTreeStore } from "../contract/tree-store.contract.js";
import { type ApartStores, inMemoryApartStores } from "./apart-stores.js";
import { InMemoryOutbox } from "./outbox.js";
import { InMemoryPointLedger } from "./point-ledger.js";
import { OutboxTables, Tables } from "./tables.js";
import { InMemoryTreeStore } from "./tree-store.js";

const open = async (): Promise<ApartStores> => inMemoryApartStores(systemClock);

describeOutbox("in memory, apart", async () => {
  const outboxTables = new OutboxTables(systemClock);
  const tables = new Tables(outboxTables);
  return {
    tree: new InMemoryTreeStore(tables),
    outbox: new InMemoryOutbox(tables, outboxTables),
    ledger: new InMemoryPointLedger(tables, outboxTables),
    close: () => Promise.resolve(),
  };
});
describeTreeStore("in memory, apart", open);
describeVectorStore("in memory, apart", open);

const POINT = { id: "nod_a0", born: 1, field: NODE_FIELD, model: MODEL, embedding: embedding(1, 0) };

test("points keep what they were last told until they are refreshed", async () => {
  const stores = await open();
  const { tree, vectors, apart } = stores;
  await grow(stores, [state("a0", "Topic")]);
  await vectors.upsert(SCOPE, [POINT]);
  await tree.commit(SCOPE, change(1, { ends: ["nod_a0"] }));
  const [told] = (await apart.points.points(SCOPE, MODEL, { limit: 10 })).points;
  expect(told).toEqual({ id: "nod_a0", born: 1, field: NODE_FIELD });
  expect(await vectors.fingerprint(SCOPE, MODEL)).not.toEqual(
    (await apart.outbox.expectation(SCOPE, MODEL)).fingerprint,
  );
  await apart.points.refresh(SCOPE, MODEL, [POINT]);
  expect((await apart.points.points(SCOPE, MODEL, { limit: 10 })).points).toEqual([{ ...told, died: 2 }]);
  expect(await apart.outbox.expectation(SCOPE, MODEL)).toEqual({
    fingerprint: await vectors.fingerprint(SCOPE, MODEL),
    pending: 0,
    failed: 0,
  });
});

test("points that were planted are found and removed; those of a memory that is gone are purged", async () => {
  const stores = await open();
  const { tree, apart } = stores;
  await grow(stores, [state("a0", "Topic")]);
  stores.plant(SCOPE, { ...POINT, id: "nod_foreign" });
  stores.plant(SCOPE, { ...POINT, id: "nod_foreign", born: 7 });
  const page = await apart.points.points(SCOPE, MODEL, { limit: 1 });
  expect(page.points).toHaveLength(1);
  const rest = await apart.points.points(SCOPE, MODEL, { limit: 1, after: page.next ?? "" });
  expect(rest).toEqual({ points: [{ id: "nod_foreign", born: 7, field: NODE_FIELD }] });
  await apart.points.remove(SCOPE, MODEL, page.points);
  expect((await tree.deleteMemory(SCOPE)).vectors).toBe(1);
  expect(await apart.points.purge(SCOPE)).toBe(0);
});
