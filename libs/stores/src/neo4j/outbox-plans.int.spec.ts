import { afterAll, beforeAll, expect, test } from "@jest/globals";
import neo4j, { type Driver } from "neo4j-driver";
import { describeWithNeo4j } from "../../../../test/support/neo4j.js";
import { BLOBS } from "./blob-store.js";
import { Database } from "./database.js";
import { EXPECTED } from "./expected-points.js";
import { KEYS } from "./key-store.js";
import { LEDGER } from "./ledger-statements.js";
import { migrate } from "./migrate.js";
import { OUTBOX_ROWS } from "./outbox-rows.js";
import { OUTBOX } from "./outbox-statements.js";
import { TRACKING } from "./outbox-tracking.js";
import { LOCK_TENANT } from "./tenant-lock.js";
import { COUNTING } from "./term-counting.js";
import { TENANTS } from "./tenant-store.js";
import { planOf, type StatementPlan, writeYoung } from "./testing/plan-of.js";

/** Parameters that are not text. */
const LISTS = ["jobs", "keys", "parents", "points", "ranges", "refs", "scopes", "states", "tasks", "tenants", "terms"];
const NUMBERS = [
  "afterMs",
  "at",
  "born",
  "by",
  "chunks",
  "createdAt",
  "deletedAt",
  "documents",
  "expiresAt",
  "idleMs",
  "keep",
  "leaseMs",
  "limit",
  "lock",
  "never",
];
const MORE_NUMBERS = ["now", "part", "revision", "since", "suspendedAt", "tokens", "walk", "weight"];

const statements: readonly (readonly [string, string])[] = [
  ...Object.entries({ ...OUTBOX, ...OUTBOX_ROWS, LOCK_TENANT }),
  ...Object.entries(TRACKING),
  ...Object.entries(EXPECTED),
  ...Object.entries(LEDGER),
  ...Object.entries(COUNTING),
  ...Object.entries(KEYS),
  ...Object.entries(BLOBS),
  ...Object.entries(TENANTS),
];

await describeWithNeo4j("Neo4j: statements of the outbox, of keys, blobs and tenants", (uri) => {
  let driver: Driver;
  let young: Awaited<ReturnType<typeof writeYoung>>;
  beforeAll(async () => {
    const database = new Database({ url: uri });
    await migrate(database);
    await database.close();
    driver = neo4j.driver(uri);
    young = await writeYoung(driver);
  });
  afterAll(async () => {
    await young.remove();
    await driver.close();
  });

  const plan = (text: string): Promise<StatementPlan> => planOf(driver, { text, parameters: parametersOf(text) });

  test.each(statements)("%s reads by indexes alone", async (_, text) => {
    const { operators, refused } = await plan(text);
    expect(refused).toEqual([]);
    expect(operators.some((operator) => /Seek|CountFromCountStore|Create/.test(operator))).toBe(true);
  });

  test("claims walk a tenant's rows in their order, and stop", async () => {
    const { operators, indexes } = await plan(OUTBOX.claim);
    expect(indexes).toContain("Outbox(waiting, seq)");
    // One sort, of the rows that were claimed.
    expect(operators.filter((operator) => /Sort|Top/.test(operator))).toEqual(["Sort"]);
    expect(operators).toContain("Limit");
  });

  test("what waits is read in document order, and no more of it than is asked for", async () => {
    const { operators, indexes } = await plan(LEDGER.pending);
    expect(indexes).toContain("Outbox(memory, model, field, task, path)");
    expect(operators.filter((operator) => /Sort|Top/.test(operator))).toEqual([]);
  });

  test("tenants with rows are found by seeks alone, and their oldest rows in order", async () => {
    for (const text of [OUTBOX.tenantsAfter, OUTBOX.ofTenants]) {
      const { operators, indexes } = await plan(text);
      expect(new Set(indexes.filter((index) => index.startsWith("Outbox")))).toEqual(new Set(["Outbox(waiting, seq)"]));
      expect(operators.filter((operator) => /Sort|Top/.test(operator))).toEqual([]);
    }
  });

  test("a page of states is read in the order of its index", async () => {
    for (const text of [EXPECTED, TRACKING, COUNTING].flatMap((of) => [of.statesOfId, of.statesAfterId])) {
      const { operators, indexes } = await plan(text);
      expect(indexes).toEqual(["Node(memory, id, born)"]);
      expect(operators.filter((operator) => /Sort|Top/.test(operator))).toEqual([]);
    }
  });
});

/** A value of the right kind for each parameter of a statement. */
function parametersOf(text: string): Readonly<Record<string, unknown>> {
  const names = [...text.matchAll(/\$(\w+)/g)].map(([, name = ""]) => name);
  return Object.fromEntries(names.map((name) => [name, valueOf(name, text)]));
}

function valueOf(name: string, text: string): unknown {
  if (LISTS.includes(name) || (name === "rows" && text.includes("UNWIND $rows"))) return [{}];
  if (NUMBERS.includes(name) || MORE_NUMBERS.includes(name) || name === "rows") return 1;
  if (name === "attributes" || name === "done") return true;
  return name === "bytes" ? new Int8Array(1) : "text";
}
