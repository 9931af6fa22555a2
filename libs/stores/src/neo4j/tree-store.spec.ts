import { expect, test } from "@jest/globals";
import type { Database, Transaction } from "./database.js";
import { Neo4jTreeStore } from "./tree-store.js";
import { READS } from "./tree-reads.js";

/** A server on which the first read of states fails and, as servers do, ends its transaction. */
function failingOnce(head: { readonly revision: number; readonly purged: number }): Database {
  let reads = 0;
  const begin = (isFailing: boolean): Transaction => {
    let isEnded = false;
    return {
      run: <Row>(statement: string): Promise<readonly Row[]> => {
        if (isEnded) return Promise.reject(new Error("The transaction has ended."));
        if (statement === READS.head)
          return Promise.resolve([{ ...head, children: 0 }] as readonly unknown[] as readonly Row[]);
        isEnded = isFailing;
        return isFailing ? Promise.reject(new Error("The read failed.")) : Promise.resolve([]);
      },
    };
  };
  const read: Database["read"] = (work) => work(begin(reads++ === 0));
  return { read } as Partial<Database> as Database;
}

const SCOPE = { tenant: "t", memory: "m" };

test("a revision that the head's indexes do not serve is read in a transaction of its own", async () => {
  const tree = new Neo4jTreeStore(failingOnce({ revision: 5, purged: 3 }));
  expect(await tree.nodes(SCOPE, 1, ["a"])).toEqual([]);
});

test("a read at the head that fails is told as it failed", async () => {
  const tree = new Neo4jTreeStore(failingOnce({ revision: 5, purged: 3 }));
  await expect(tree.nodes(SCOPE, 5, ["a"])).rejects.toThrow("The read failed.");
});

test("a memory that goes while an older revision of it is read is told as unknown, not as emptied", async () => {
  const asked: string[] = [];
  const query: Database["query"] = async (statement) => {
    asked.push(statement);
    return asked.length === 1 ? [{ get: (place) => (place === 0 ? 3 : null), toObject: () => ({}) }] : [];
  };
  const tree = new Neo4jTreeStore({ query } as Partial<Database> as Database);
  const step = { axis: "child", type: "Day", comparisons: [], position: undefined } as const;
  const reading = tree.run(SCOPE, 1, { contexts: "root", steps: [step], values: false });
  await expect(reading).rejects.toMatchObject({ code: "memory_not_found" });
  expect(asked).toHaveLength(2);
});
