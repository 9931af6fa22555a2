/** Counting the terms of a field in bounded transactions, while others write. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { EspalierError, fieldText, type MemoryScope } from "#core";
import type { NewState } from "#memory";
import { termWeights } from "#scoring";
import { describeWithNeo4j } from "../../../../test/support/neo4j.js";
import { change, codeOf, indexWhole, newMemory, state } from "../contract/fixtures.js";
import { Database, type Transaction } from "./database.js";
import { migrate } from "./migrate.js";
import { Neo4jPointLedger } from "./point-ledger.js";
import { Neo4jTreeStore } from "./tree-store.js";

/** The server plans every statement once, and shares its processors with the tests. */
jest.setTimeout(120_000);

const FIELD = "title";
/** What one transaction may count, with the terms of its last text. */
const TERMS = 10_000 + 100;

/** Remembers the most terms that one transaction wrote. */
class Measured extends Database {
  largest = 0;

  override write<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return super.write((transaction) => {
      let terms = 0;
      return work({
        run: (statement, parameters) => {
          const rows = parameters?.["terms"];
          if (Array.isArray(rows)) terms += rows.length;
          this.largest = Math.max(this.largest, terms);
          return transaction.run(statement, parameters);
        },
      });
    });
  }
}

const titled = (path: string, title: string): NewState => state(path, "Topic", { attributes: { title } });

/** States with words of their own, and one that they share. */
const wide = (count: number, words: number): readonly NewState[] =>
  Array.from({ length: count }, (_, at) => {
    const own = Array.from({ length: words }, (__, word) => `w${at}x${word}`);
    return titled(`a${String(at).padStart(4, "0")}`, `green ${own.join(" ")}`);
  });

await describeWithNeo4j("Neo4j: counting terms", (url) => {
  let database: Measured;
  let tree: Neo4jTreeStore;
  let ledger: Neo4jPointLedger;
  beforeAll(async () => {
    database = new Measured({ url });
    await migrate(database);
    tree = new Neo4jTreeStore(database);
    ledger = new Neo4jPointLedger(database);
  });
  afterAll(() => database.close());

  async function newScope(states: readonly NewState[]): Promise<MemoryScope> {
    const scope = { tenant: `ten_${randomUUID()}`, memory: "mem_1" };
    await tree.createMemory(scope.tenant, newMemory(scope.memory));
    await tree.commit(scope, change(0, { states }));
    return scope;
  }

  /** As an insert: planned again when it is refused. */
  async function commit(scope: MemoryScope, states: readonly NewState[], ends: readonly string[]): Promise<void> {
    for (;;) {
      const { revision } = await tree.getMemory(scope);
      const termFields = await ledger.indexedFields(scope);
      try {
        await tree.commit(scope, change(revision, { states, ends, termFields }));
        return;
      } catch (error) {
        if (!(error instanceof EspalierError && error.code === "revision_conflict")) throw error;
      }
    }
  }

  /** Every term and every document is counted as the live states have it. */
  async function expectCounted(scope: MemoryScope): Promise<void> {
    const texts = (await tree.scan(scope, { limit: 20_000 }))
      .map((node) => fieldText(node, FIELD) ?? "")
      .filter((text) => text !== "");
    const expected = new Map<string, number>();
    for (const text of texts) {
      for (const term of termWeights(text).keys()) expected.set(term, (expected.get(term) ?? 0) + 1);
    }
    const { documents, frequencies } = await ledger.statistics(scope, FIELD, [...expected.keys(), "gone"]);
    expect(documents).toBe(texts.length);
    expect(new Map([...frequencies].sort())).toEqual(new Map([...expected].sort()));
  }

  test("a field with more words than a transaction takes is counted in several, with commits between them", async () => {
    const scope = await newScope(wide(400, 60));
    database.largest = 0;
    let pages = 1;
    while (!(await ledger.indexPage(scope, FIELD))) {
      expect(await ledger.isIndexed(scope, FIELD)).toBe(false);
      expect(await ledger.statistics(scope, FIELD, ["green", "w0x1"])).toMatchObject({
        documents: 0,
        frequencies: new Map(),
      });
      const changed = [`a000${pages}`, `a039${pages}`];
      const states = changed.map((path) => titled(path, `green blue ${path}`));
      await commit(
        scope,
        [...states, titled(`b${pages}`, "green blue")],
        [...states.map(({ id }) => id), `nod_a020${pages}`],
      );
      pages += 1;
    }
    expect(pages).toBeGreaterThan(2);
    expect(database.largest).toBeLessThan(TERMS);
    expect(await ledger.isIndexed(scope, FIELD)).toBe(true);
    await expectCounted(scope);
  });

  test("several count at the same time while others write, and every state is counted once", async () => {
    const states = Array.from({ length: 2_500 }, (_, at) =>
      titled(`a${String(at).padStart(4, "0")}`, `red r${at % 50}`),
    );
    const scope = await newScope(states);
    const writes = async (): Promise<void> => {
      for (let round = 0; round < 8; round += 1) {
        const ends = states.slice(round * 300, round * 300 + 20).map(({ id }) => id);
        await commit(scope, [titled(`b${round}`, `blue r${round}`)], ends);
      }
      const large = Array.from({ length: 2_200 }, (_, at) =>
        titled(`c${String(at).padStart(4, "0")}`, `c r${at % 50}`),
      );
      await commit(scope, large, ["nod_a2499"]);
    };
    await Promise.all([
      writes(),
      indexWhole(ledger, scope, FIELD),
      indexWhole(ledger, scope, FIELD),
      indexWhole(ledger, scope, FIELD),
    ]);
    await expectCounted(scope);
    await commit(scope, [titled("d", "red")], ["nod_a2498"]);
    await expectCounted(scope);
  });

  test("a change that was planned before a field was begun is refused", async () => {
    const scope = await newScope(wide(1_200, 1));
    expect(await ledger.indexPage(scope, FIELD)).toBe(false);
    const planned = change(1, { states: [titled("b", "late")], termFields: [""] });
    expect(await codeOf(tree.commit(scope, planned))).toBe("revision_conflict");
    expect(await ledger.indexedFields(scope)).toEqual(["", FIELD]);
    await indexWhole(ledger, scope, FIELD);
    await expectCounted(scope);
  });
});
