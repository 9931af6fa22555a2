/** Runs and evidence in Neo4j are what the in-memory reference answers, at every revision of random histories. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type MemoryScope, NODE_FIELD } from "#core";
import type { ChangeSet } from "#memory";
import { describeWithNeo4j } from "../../../../test/support/neo4j.js";
import { change, codeOf, MODEL, newMemory, range, state, step, TENANT } from "../contract/fixtures.js";
import { HistoryWriter, histories } from "../contract/random-history.js";
import { randomPaths, randomRuns, runOver } from "../contract/random-reads.js";
import { holdsFor } from "../contract/seed.js";
import { inMemoryStores } from "../in-memory/in-memory-stores.js";
import { Database } from "./database.js";
import type { Liveness } from "./match-step.js";
import { memoryKey } from "./memory-key.js";
import { migrate } from "./migrate.js";
import { propertiesOf } from "./node-rows.js";
import { executeEvidence, executeRun } from "./structure.js";

const RUNS = 8;

const reads = fc.record({
  history: histories,
  runs: fc.array(randomRuns, { minLength: 1, maxLength: 10 }),
  paths: randomPaths,
});

await describeWithNeo4j("structure in Neo4j", (url) => {
  let database: Database;
  beforeAll(async () => {
    database = new Database({ url });
    await migrate(database);
  });
  afterAll(() => database.close());

  async function commit(memory: string, changes: ChangeSet): Promise<void> {
    const revision = changes.baseRevision + 1;
    const states = changes.states.map((state, ordinal) =>
      propertiesOf(memory, state, { revision, ordinal, children: 0 }),
    );
    await database.write(async (transaction) => {
      const ended = { memory, revision, ends: changes.ends, never: Number.MAX_SAFE_INTEGER };
      await transaction.run(
        "UNWIND $ends AS id MATCH (n:Node {memory: $memory, id: id}) WHERE n.died = $never SET n.died = toInteger($revision)",
        ended,
      );
      await transaction.run("UNWIND $states AS state CREATE (n:Node) SET n = state", { states });
    });
  }

  /** Ended states leave the indexes of the head. */
  async function purge(memory: string): Promise<void> {
    const ended = "MATCH (n:Node) WHERE n.memory = $memory AND n.pathKey > '' AND n.died < $never REMOVE n.live";
    await database.write((transaction) => transaction.run(ended, { memory, never: Number.MAX_SAFE_INTEGER }));
  }

  let cases = 0;
  test("is that of the reference, through the head's indexes and through those of all states", async () => {
    await holdsFor(RUNS, reads, async ({ history, runs, paths }) => {
      cases += 1;
      const scope: MemoryScope = { tenant: TENANT, memory: `mem_${cases}` };
      const memory = memoryKey(scope);
      const reference = inMemoryStores().tree;
      await reference.createMemory(TENANT, newMemory(scope.memory, { embeddingModel: MODEL }));
      const writer = new HistoryWriter();
      for (const edits of history) {
        const next = writer.next(edits, [NODE_FIELD]);
        await reference.commit(scope, next);
        await commit(memory, next);
      }
      const equal = async (liveness: Liveness): Promise<void> => {
        const { revision } = liveness;
        const all = { axis: "descendant", type: undefined, position: undefined, comparisons: [] } as const;
        const every = await reference.run(scope, revision, { contexts: "root", steps: [all], values: false });
        const nodes = every.rows.map(({ key }) => key);
        for (const random of runs) {
          const run = runOver(nodes, random);
          const found = await executeRun(database, { memory, liveness }, run);
          expect(found.rows).toEqual((await reference.run(scope, revision, run)).rows);
        }
        const contexts = nodes.filter((_, index) => index % 2 === 0).map(({ id, pathKey }) => ({ id, pathKey }));
        const request = { contexts, paths, values: true };
        const found = await executeEvidence(database, { memory, liveness }, request);
        expect(found.rows).toEqual((await reference.evidence(scope, revision, request)).rows);
      };
      for (let revision = 0; revision <= history.length; revision += 1) await equal({ head: true, revision });
      await purge(memory);
      await equal({ head: true, revision: history.length });
      for (let revision = 0; revision <= history.length; revision += 1) await equal({ head: false, revision });
    });
  }, 300_000);

  test("chains that are too many end the statement, also where a position collects them", async () => {
    const deep = Array.from({ length: 40 }, (_, level) =>
      state(
        Array(level + 1)
          .fill("a0")
          .join("."),
        "A",
      ),
    );
    const memory = "default/deep";
    await commit(memory, change(0, { states: deep }));
    for (const position of [undefined, range(1, undefined)]) {
      const steps = Array.from({ length: 9 }, () => step("descendant", undefined, position));
      const paths = [{ steps, keep: steps.map(() => true) }];
      const request = { contexts: [{ id: "nod_a0", pathKey: "a0" }], paths, values: false };
      const liveness = { head: true, revision: 1 };
      const asked = executeEvidence(database, { memory, liveness }, request);
      expect(await codeOf(asked)).toBe("too_much_evidence");
    }
  }, 120_000);
});
