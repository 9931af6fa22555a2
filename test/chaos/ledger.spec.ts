import { expect, test } from "@jest/globals";
import type { Stores } from "#stores";
import type { ApiClient } from "../support/api-client.js";
import { Ledger } from "./ledger.js";

/** A store in which these writes are stored, in document order; each as a revision of its own where nothing else is said. */
function storing(
  numbers: readonly number[],
  { born = numbers.map((_, index) => index + 1), vectors = -1 } = {},
): Stores {
  const nodes = numbers.map((number, index) => ({ attributes: { number }, born: born[index], pathKey: `a${index}` }));
  return {
    tree: { scan: async () => nodes, getMemory: async () => ({ revision: nodes.length, embeddingModel: "m" }) },
    vectors: { fingerprint: async () => ({ count: vectors === -1 ? nodes.length : vectors, hash: "" }) },
  } as unknown as Stores;
}

function acknowledging(...numbers: readonly number[]): Ledger {
  const ledger = new Ledger();
  for (const number of numbers) ledger.acknowledge("mem_1", { number, job: `job_${number}` });
  return ledger;
}

const fine = { lost: 0, doubled: 0, outOfOrder: 0 };

test("what is stored once and in order is fine, and so is what got no answer and is stored once or not at all", async () => {
  const ledger = acknowledging(1, 2, 5);
  for (const number of [3, 4]) ledger.unsure("mem_1", number);
  expect(await ledger.compare(storing([1, 2, 4, 5]))).toEqual({ acknowledged: 3, ...fine });
});

test("a write that is not there, and a node without its vector, are lost", async () => {
  expect(await acknowledging(1, 2, 3).compare(storing([1, 3]))).toMatchObject({ ...fine, lost: 1 });
  expect(await acknowledging(1, 2).compare(storing([1, 2], { vectors: 1 }))).toMatchObject({ ...fine, lost: 1 });
});

test("a write that is there twice, one that was refused, and one that was given up, are doubled", async () => {
  expect(await acknowledging(1, 2).compare(storing([1, 2, 2]))).toMatchObject({ ...fine, doubled: 1 });
  expect(await acknowledging(1).compare(storing([1, 2]))).toMatchObject({ ...fine, doubled: 1 });
  const ledger = acknowledging(1, 2);
  ledger.giveUp("job_2");
  expect(await ledger.compare(storing([1, 2]))).toMatchObject({ ...fine, doubled: 1 });
});

test("a memory to which nothing was acknowledged is empty", async () => {
  const ledger = new Ledger();
  ledger.watch("mem_1");
  expect(await ledger.compare(storing([]))).toEqual({ acknowledged: 0, ...fine });
  expect(await ledger.compare(storing([1]))).toMatchObject({ doubled: 1 });
});

test("the order is that of the acknowledgements, in the document and by revisions", async () => {
  expect(await acknowledging(1, 2, 3).compare(storing([1, 3, 2], { born: [1, 3, 2] }))).toMatchObject({
    ...fine,
    outOfOrder: 1,
  });
  expect(await acknowledging(1, 2).compare(storing([1, 2], { born: [2, 1] }))).toMatchObject({
    ...fine,
    outOfOrder: 1,
  });
});

test("a job that did not end as it should is named", async () => {
  const client = { call: async () => ({ status: 200, body: { state: "failed" } }) } as unknown as ApiClient;
  await expect(acknowledging(7).settle(client)).rejects.toThrow("write 7 of mem_1 (job_7) ended as failed");
});
