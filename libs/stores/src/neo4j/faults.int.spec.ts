/** What the trees in Neo4j answer when the server cannot do what it is asked, and when many ask at once. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { Neo4jError } from "neo4j-driver";
import type { NewState } from "#memory";
import { describeWithNeo4j, emptyNeo4j, startNeo4j, type TestNeo4j } from "../../../../test/support/neo4j.js";
import { change, codeOf, comparison, idsOf, newMemory, SCOPE, state, step, TENANT } from "../contract/fixtures.js";
import { COMMIT } from "./commit-statements.js";
import { Database, type DatabaseOptions, type Transaction } from "./database.js";
import { removeRows } from "./delete-memory.js";
import { memoryKey } from "./memory-key.js";
import { migrate } from "./migrate.js";
import { purgeEnded } from "./ended-states.js";
import { NEVER } from "./node-rows.js";
import { Neo4jOutbox } from "./outbox.js";
import { sweepAbandoned } from "./staged-states.js";
import { Neo4jTreeStore } from "./tree-store.js";

jest.setTimeout(240_000);

/** A change set of many transactions, which are small here. */
const LARGE = 600;
const SMALL_BATCHES = { batchStates: 50 };
/** Takes long enough to be killed within. */
const LONG = 800;

const large = (prefix: string, length = LARGE): readonly NewState[] =>
  Array.from({ length }, (_, at) => state(`${prefix}${String(at).padStart(5, "0")}`, "Turn"));

/** What lies in the graph of a memory that no reader may see. */
async function leftovers(database: Database, scope = SCOPE): Promise<unknown> {
  const [row] = await database.read((transaction) =>
    transaction.run(
      `MATCH (m:Memory {key: $memory})
       RETURN COUNT { MATCH (n:Node {memory: m.key}) WHERE n.born > m.revision } AS nodes,
         COUNT { MATCH (n:Node {memory: m.key}) WHERE m.revision < n.died AND n.died < $never } AS ends,
         COUNT { MATCH (o:Outbox {memory: m.key}) WHERE o.revision > m.revision } AS rows,
         COUNT { MATCH (s:Staged {memory: m.key}) } AS staged`,
      { memory: memoryKey(scope), never: NEVER },
    ),
  );
  return row;
}

/** Every unit of work but the first `kept` is run twice, as the driver does when only the answer of a commit was lost. */
class LosesAnswers extends Database {
  constructor(
    options: DatabaseOptions,
    private kept = 0,
  ) {
    super(options);
  }

  override async write<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    if (this.kept === 0) await super.write(work);
    else this.kept -= 1;
    return super.write(work);
  }
}

/** A statement fails while others of its transaction are on their way, and the driver runs the unit of work again. */
class FailsOnce extends Database {
  constructor(
    options: DatabaseOptions,
    private readonly statement: string,
    private at: number,
  ) {
    super(options);
  }

  get hasFailed(): boolean {
    return this.at < 0;
  }

  override write<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    const run = async <Row>(
      transaction: Transaction,
      ...asked: Parameters<Transaction["run"]>
    ): Promise<readonly Row[]> => {
      if (asked[0] === this.statement && this.at-- === 0) {
        throw new Neo4jError("once", "Neo.TransientError.Transaction.DeadlockDetected", "", "");
      }
      return transaction.run<Row>(...asked);
    };
    return super.write((transaction) => work({ run: (...asked) => run(transaction, ...asked) }));
  }
}

/** Its process dies before it can write once more. */
class DiesAfter extends Database {
  constructor(
    options: DatabaseOptions,
    private left: number,
  ) {
    super(options);
  }

  override async write<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    if (this.left === 0) throw new Error("killed");
    this.left -= 1;
    return super.write(work);
  }
}

const NOTHING = { nodes: 0, ends: 0, rows: 0, staged: 0 };

await describeWithNeo4j("trees in Neo4j", (url) => {
  let database: Database;
  let tree: Neo4jTreeStore;
  beforeEach(async () => {
    await emptyNeo4j(url);
    database = new Database({ url });
    await migrate(database);
    tree = new Neo4jTreeStore(database, SMALL_BATCHES);
    await tree.createMemory(TENANT, newMemory(SCOPE.memory));
  });
  afterEach(() => database.close());

  test("a URL that is none, or of no server, is store_unavailable and says which setting to look at", async () => {
    expect(() => new Database({ url: "http://nowhere" })).toThrow(/NEO4J_URI must be like bolt:/);
    const nowhere = new Database({ url: "bolt://127.0.0.1:1", callMs: 2_000 });
    expect(await codeOf(nowhere.ping())).toBe("store_unavailable");
    await nowhere.close();
    expect(await codeOf(nowhere.ping())).toBe("store_unavailable");
  });

  test("two replicas that migrate at once both start, and a name that is taken is refused", async () => {
    await database.write((transaction) => transaction.run("DROP INDEX node_path"));
    await database.write((transaction) => transaction.run("MATCH (v:Migration) DELETE v"));
    const other = new Database({ url });
    await Promise.all([migrate(database), migrate(other), migrate(other)]);
    await database.write((transaction) => transaction.run("DROP INDEX node_path"));
    await database.write((transaction) => transaction.run("CREATE INDEX node_path FOR (n:Other) ON (n.x)"));
    await expect(migrate(other)).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("node_path"),
    });
    await database.write((transaction) => transaction.run("DROP INDEX node_path"));
    await database.write((transaction) => transaction.run("MATCH (v:Migration) DELETE v"));
    await migrate(other);
    await other.close();
  });

  test("a schema of a newer program is refused", async () => {
    await database.write((transaction) => transaction.run("CREATE (:Migration {version: 1000})"));
    const refusal = await migrate(database).catch((error: unknown) => error);
    await database.write((transaction) => transaction.run("MATCH (v:Migration {version: 1000}) DELETE v"));
    expect(refusal).toMatchObject({ code: "store_unavailable", message: expect.stringContaining("newer program") });
    await migrate(database);
  });

  test("a memory is made once when the answer of its commit is lost", async () => {
    const lossy = new LosesAnswers({ url });
    const made = await new Neo4jTreeStore(lossy).createMemory(TENANT, newMemory("made-twice"));
    await lossy.close();
    expect(made).toMatchObject({ id: "made-twice", revision: 0 });
    expect(await codeOf(tree.createMemory(TENANT, newMemory("made-twice")))).not.toBe("no error");
  });

  test("a change set is made once when answers of its commits are lost, or a statement fails and it is run again", async () => {
    const rowsOf = async (memory: string): Promise<unknown> =>
      database.read((transaction) =>
        transaction.run("MATCH (o:Outbox {memory: $memory}) RETURN count(o) AS rows, count(DISTINCT o.key) AS keys", {
          memory: memoryKey({ ...SCOPE, memory }),
        }),
      );
    const texts = (length: number): readonly NewState[] => large("b", length).map((one) => ({ ...one, text: "words" }));
    const failing = new FailsOnce({ url }, COMMIT.linkStates, 1);
    const cases = [
      { memory: "small", database: new LosesAnswers({ url }), states: texts(20) },
      // Whoever finds that it has begun already waits until its writer must be dead.
      { memory: "large", database: new LosesAnswers({ url }, 1), states: texts(150) },
      { memory: "fails", database: failing, states: texts(150) },
    ];
    for (const { memory, database: lossy, states } of cases) {
      await tree.createMemory(TENANT, newMemory(memory));
      const scope = { ...SCOPE, memory };
      const committed = await new Neo4jTreeStore(lossy, SMALL_BATCHES).commit(scope, change(0, { states }));
      await lossy.close();
      expect(committed).toMatchObject({ repeated: false });
      expect(await tree.getMemory(scope)).toMatchObject({ revision: committed.revision, nodes: states.length });
      expect(await tree.scan(scope, { limit: LARGE + 1 })).toHaveLength(states.length);
      expect([memory, await rowsOf(memory)]).toEqual([memory, [{ rows: states.length, keys: states.length }]]);
      expect(await leftovers(database, scope)).toEqual(NOTHING);
    }
    expect(failing.hasFailed).toBe(true);
  });

  test("chunks of blobs go with their memory, few at a time", async () => {
    await database.write((transaction) =>
      transaction.run("UNWIND range(1, 45) AS part CREATE (:BlobChunk {memory: $memory, blob: 'b', part: part})", {
        memory: memoryKey(SCOPE),
      }),
    );
    await tree.deleteMemory(SCOPE);
    const [left] = await database.read((transaction) =>
      transaction.run("MATCH (c:BlobChunk) RETURN count(c) AS count"),
    );
    expect(left).toEqual({ count: 0 });
  });

  test("writers that commit on one revision at once: one takes effect, the others conflict", async () => {
    const second = new Database({ url });
    const other = new Neo4jTreeStore(second);
    const stores = [tree, other, tree, other];
    const calls = stores.map((store, at) => store.commit(SCOPE, change(0, { states: [state(`a${at}`, "A")] })));
    const codes = await Promise.all(calls.map(codeOf));
    expect([...codes].sort()).toEqual(["no error", ...Array(3).fill("revision_conflict")]);
    expect(await tree.getMemory(SCOPE)).toMatchObject({ revision: 1, nodes: 1 });
    expect(await tree.scan(SCOPE, { limit: 10 })).toHaveLength(1);
    await second.close();
  });

  test("nobody ever sees a part of a large change set", async () => {
    const writing = { isDone: false };
    const committed = tree.commit(SCOPE, change(0, { states: large("b") })).finally(() => {
      writing.isDone = true;
    });
    const seen = new Set<number>();
    while (!writing.isDone) seen.add((await tree.scan(SCOPE, { limit: LARGE })).length);
    await committed;
    expect([...seen].filter((count) => count !== 0 && count !== LARGE)).toEqual([]);
    expect(await tree.getMemory(SCOPE)).toMatchObject({ revision: 1, nodes: LARGE });
    expect(await leftovers(database)).toEqual(NOTHING);
  });

  test("nobody ever sees a part of a large change set that ends states, and its edges are moved", async () => {
    const upper = state("a0", "Topic");
    const lower = Array.from({ length: LARGE }, (_, at) => state(`a0.b${String(at).padStart(5, "0")}`, "Turn"));
    const [stays, ...gone] = lower;
    await tree.commit(SCOPE, change(0, { states: [upper, ...lower] }));
    const writing = { isDone: false };
    const ends = ["nod_a0", ...gone.map(({ id }) => id)];
    const committed = tree.commit(SCOPE, change(1, { ends, states: [state("a0", "Topic", { text: "new" })] }));
    void committed.finally(() => {
      writing.isDone = true;
    });
    const seen = new Set<number>();
    while (!writing.isDone) seen.add((await tree.scan(SCOPE, { limit: LARGE + 1 })).length);
    await committed;
    expect([...seen].filter((count) => count !== 2 && count !== LARGE + 1)).toEqual([]);
    expect(idsOf(await tree.scan(SCOPE, { limit: LARGE }))).toEqual(["nod_a0", stays?.id]);
    expect(await tree.children(SCOPE, 2, null, { limit: 5 })).toMatchObject({ nodes: [{ text: "new", children: 1 }] });
    expect((await tree.children(SCOPE, 1, "nod_a0", { limit: LARGE })).nodes).toHaveLength(LARGE);
    const edges = await database.read((transaction) =>
      transaction.run("MATCH (p:Node)-[:CHILD]->(c:Node) RETURN p.id AS parent, p.born AS born, c.id AS child"),
    );
    expect(edges).toEqual([{ parent: "nod_a0", born: 2, child: stays?.id }]);
    expect(await leftovers(database)).toEqual(NOTHING);
  });

  test("what a writer left that died is taken back by maintenance, its ends too", async () => {
    await tree.commit(SCOPE, change(0, { states: large("b") }));
    const dying = new DiesAfter({ url }, 10);
    const ends = large("b").map(({ id }) => id);
    const set = change(1, { ends, states: large("c").slice(0, 300) });
    expect(await codeOf(new Neo4jTreeStore(dying, SMALL_BATCHES).commit(SCOPE, set))).not.toBe("no error");
    await dying.close();
    const left = await leftovers(database);
    expect(left).not.toEqual(NOTHING);
    await sweepAbandoned(database, SCOPE.tenant, memoryKey(SCOPE));
    expect(await leftovers(database)).toEqual(left);
    await sweepAbandoned(database, SCOPE.tenant, memoryKey(SCOPE), 0);
    expect(await leftovers(database)).toEqual(NOTHING);
    expect(await tree.scan(SCOPE, { limit: LARGE + 1 })).toHaveLength(LARGE);
    const again = await tree.commit(SCOPE, set);
    expect(again.repeated).toBe(false);
    expect(await tree.getMemory(SCOPE)).toMatchObject({ nodes: 300, revision: again.revision });
    expect(await tree.scan(SCOPE, { limit: LARGE })).toHaveLength(300);
  });

  test("names and values that try to leave their place are names and values", async () => {
    const evil = "`}) DETACH DELETE (n) //'\"\\ ☃ \u{1f600}";
    await tree.commit(
      SCOPE,
      change(0, {
        states: [
          state("a0", evil, {
            attributes: { [evil]: evil, memory: "mine", live: "x" },
            metadata: { [`${evil}m`]: [evil] },
          }),
          state("a0.a0", "B", { attributes: { born: 5, "value:x": true } }),
        ],
      }),
    );
    const [found] = await tree.nodes(SCOPE, 1, ["nod_a0"]);
    expect(found).toMatchObject({ type: evil, attributes: { [evil]: evil, memory: "mine", live: "x" } });
    const steps = [step("child", evil, undefined, [comparison(evil, "=", evil)]), step("child", "B")];
    const { rows } = await tree.run(SCOPE, 1, { contexts: "root", steps, values: false });
    expect(rows.map(({ key }) => key.pathKey)).toEqual(["a0.a0"]);
    expect((await tree.findChild(SCOPE, null, { type: evil, name: evil, value: evil }))?.id).toBe("nod_a0");
    expect((await tree.schema(SCOPE)).types.map(({ type }) => type)).toContain(evil);
  });

  test("ended states stay for readers of older revisions when they leave the indexes of the head", async () => {
    await tree.commit(SCOPE, change(0, { states: [state("a0", "A"), state("a0.a0", "B"), state("a1", "A")] }));
    await tree.commit(SCOPE, change(1, { ends: ["nod_a0"], states: [state("a0", "A", { text: "new" })] }));
    const edges = async (): Promise<unknown> =>
      database.read((transaction) =>
        transaction.run("MATCH (p:Node)-[:CHILD]->(c:Node) RETURN p.id AS parent, p.born AS born, c.id AS child"),
      );
    expect(await edges()).toEqual([{ parent: "nod_a0", born: 2, child: "nod_a0.a0" }]);
    await purgeEnded(database, memoryKey(SCOPE), -1);
    const [row] = await database.read((transaction) =>
      transaction.run("MATCH (n:Node {id: 'nod_a0'}) RETURN count(*) AS states, count(n.live) AS live"),
    );
    expect(row).toEqual({ states: 2, live: 1 });
    const texts = async (revision: number): Promise<readonly string[]> =>
      (await tree.children(SCOPE, revision, null, { limit: 5 })).nodes.map(({ text }) => text);
    expect([await texts(1), await texts(2)]).toEqual([
      ["text of a0", "text of a1"],
      ["new", "text of a1"],
    ]);
  });

  test("a step is forgotten by the server's clock, when no repeat can come any more", async () => {
    const first = change(0, {});
    await tree.commit(SCOPE, first);
    const age = "MATCH (i:Inbox) SET i.time = timestamp() - 8 * 86400000";
    await database.write((transaction) => transaction.run(age));
    await tree.commit(SCOPE, change(1, {}));
    expect(await tree.inbox(SCOPE, first.inbox.job, first.inbox.step)).toBeUndefined();
  });

  test("a deletion that is under way is not taken for one that died", async () => {
    await tree.commit(SCOPE, change(0, { states: [state("a0", "A")] }));
    const outbox = new Neo4jOutbox(database);
    const buried =
      "MATCH (m:Memory) DELETE m CREATE (:Tombstone {key: $key, tenant: $tenant, memory: $memory, time: 1})";
    await database.write((transaction) => transaction.run(buried, { key: memoryKey(SCOPE), ...SCOPE }));
    expect(await outbox.tombstones(10, 60_000)).toEqual([SCOPE]);
    await removeRows(database, SCOPE);
    expect(await outbox.tombstones(10, 60_000)).toEqual([]);
    expect(await outbox.tombstones(10, 0)).toEqual([SCOPE]);
    await outbox.bury(SCOPE);
    expect(await outbox.tombstones(10, 0)).toEqual([]);
  });

  test("a deletion that died is finished before the id is used again", async () => {
    await tree.commit(SCOPE, change(0, { states: [state("a0", "A")] }));
    const tombstone =
      "MATCH (m:Memory) DELETE m CREATE (:Tombstone {key: $key, tenant: $tenant, memory: $memory, time: 1})";
    await database.write((transaction) => transaction.run(tombstone, { key: memoryKey(SCOPE), ...SCOPE }));
    await tree.createMemory(TENANT, newMemory(SCOPE.memory));
    expect(idsOf(await tree.scan(SCOPE, { limit: 5 }))).toEqual([]);
    expect(await leftovers(database)).toEqual(NOTHING);
  });
});

await describeWithNeo4j("a Neo4j that fails", () => {
  let server: TestNeo4j;
  let database: Database;
  beforeAll(async () => {
    const started = await startNeo4j({ password: "correct horse" });
    if ("skipped" in started) throw new Error(started.skipped);
    server = started;
    database = new Database({ url: server.uri, user: "neo4j", password: "correct horse" });
    await migrate(database);
  });
  afterAll(async () => {
    await database.close();
    await server.close();
  });

  describe("asked with a wrong password", () => {
    test("is store_unavailable and names the settings, without the password", async () => {
      const wrong = new Database({ url: server.uri, user: "neo4j", password: "battery staple" });
      await expect(wrong.ping()).rejects.toMatchObject({
        code: "store_unavailable",
        message: expect.stringMatching(/NEO4J_USERNAME and NEO4J_PASSWORD/),
      });
      await wrong.close();
    });
  });

  /** Written in transactions of fifty states. */
  const long = change(1, { states: large("b", LONG), result: { inserted: LONG } });

  test("killed in the middle of a large change set and of queries: both say so, and nothing half-visible is left", async () => {
    const hasty = new Database({ url: server.uri, user: "neo4j", password: "correct horse", callMs: 5_000 });
    const tree = new Neo4jTreeStore(hasty, SMALL_BATCHES);
    await tree.createMemory(TENANT, newMemory(SCOPE.memory));
    await tree.commit(SCOPE, change(0, { states: [state("a0", "A")] }));
    const broken = codeOf(tree.commit(SCOPE, long));
    const staged = "MATCH (s:Staged) WHERE s.batch > 0 RETURN s.batch AS batch";
    while ((await database.read((transaction) => transaction.run(staged))).length === 0);
    const asked = codeOf(askOn(tree));
    await server.kill();
    expect([await broken, await asked]).toEqual(["store_unavailable", "store_unavailable"]);
    await hasty.close();
    await server.start("db.memory.transaction.max=8m");
    expect(idsOf(await new Neo4jTreeStore(database).scan(SCOPE, { limit: LONG }))).toEqual(["nod_a0"]);
    expect(await leftovers(database)).not.toEqual(NOTHING);
  });

  test("that has no room for a transaction says so; what is small enough, or comes again, is written once", async () => {
    const tree = new Neo4jTreeStore(database, SMALL_BATCHES);
    const again = await tree.commit(SCOPE, long);
    expect(again).toMatchObject({ repeated: false, result: { inserted: LONG } });
    expect(await tree.getMemory(SCOPE)).toMatchObject({ nodes: LONG + 1, revision: again.revision });
    expect(await tree.commit(SCOPE, long)).toEqual({ ...again, repeated: true });
    expect(await leftovers(database)).toEqual(NOTHING);
    const heavy = large("c", 260).map((one) => ({ ...one, text: one.id.padEnd(40_000, " x") }));
    const tooMuch = new Neo4jTreeStore(database).commit(SCOPE, change(again.revision, { states: heavy }));
    await expect(tooMuch).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("memory"),
    });
    expect(await tree.getMemory(SCOPE)).toMatchObject({ nodes: LONG + 1, revision: again.revision });
    expect(await leftovers(database)).toEqual(NOTHING);
  });

  test("that says nothing is given up on in time, by queries and by writers, whose change is made once", async () => {
    const options = { url: server.uri, user: "neo4j", password: "correct horse" };
    const hasty = new Database({ ...options, callMs: 1_000 });
    const tree = new Neo4jTreeStore(hasty);
    const patient = new Neo4jTreeStore(database);
    const { revision, nodes } = await patient.getMemory(SCOPE);
    const set = change(revision, { states: [state("d0", "A")] });
    await hasty.ping();
    await server.freeze();
    const calls = [hasty.ping(), tree.scan(SCOPE, { limit: 5 }), tree.commit(SCOPE, set)].map(codeOf);
    expect(await Promise.all(calls)).toEqual(calls.map(() => "store_unavailable"));
    await server.thaw();
    await patient.commit(SCOPE, set);
    await hasty.close();
    expect(await patient.getMemory(SCOPE)).toMatchObject({ revision: revision + 1, nodes: nodes + 1 });
  });

  test("that is read-only answers queries, and says what it is to writers", async () => {
    const tree = new Neo4jTreeStore(database);
    const memory = await tree.getMemory(SCOPE);
    await server.stop();
    await server.start("server.databases.default_to_read_only=true");
    for (const write of [
      tree.commit(SCOPE, change(memory.revision, {})),
      tree.createMemory(TENANT, newMemory("another")),
    ]) {
      await expect(write).rejects.toMatchObject({
        code: "store_unavailable",
        message: expect.stringContaining("read-only"),
      });
    }
    expect(await tree.getMemory(SCOPE)).toEqual(memory);
    expect(await leftovers(database)).toEqual(NOTHING);
  });
});

/** Asks until there is no answer. */
async function askOn(tree: Neo4jTreeStore): Promise<never> {
  for (;;) await tree.scan(SCOPE, { limit: 1 });
}
