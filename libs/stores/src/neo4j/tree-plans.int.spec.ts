/** No statement of the trees reads more than an index gives. */
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import neo4j, { type Driver } from "neo4j-driver";
import { describeWithNeo4j } from "../../../../test/support/neo4j.js";
import { COMMIT, STAGED } from "./commit-statements.js";
import { Database } from "./database.js";
import { DELETION } from "./delete-memory.js";
import { ENDED } from "./ended-states.js";
import { MEMORIES } from "./memories.js";
import { migrate } from "./migrate.js";
import { PATHS } from "./read-paths.js";
import { READ_SCHEMA } from "./schema.js";
import { planOf, writeYoung } from "./testing/plan-of.js";
import { READS } from "./tree-reads.js";

jest.setTimeout(120_000);

type Statements = Readonly<Record<string, string | readonly string[] | Readonly<Record<string, string>>>>;

/** Every statement with its name. */
function named(group: string, statements: Statements): readonly (readonly [name: string, text: string])[] {
  return Object.entries(statements).flatMap(([name, one]) =>
    typeof one === "string"
      ? [[`${group}.${name}`, one] as const]
      : Object.entries(one).map(([part, text]) => [`${group}.${name}.${part}`, text] as const),
  );
}

const STATEMENTS = [
  ...named("memories", MEMORIES),
  ...named("commit", COMMIT),
  ...named("staged", STAGED),
  ...named("ended", ENDED),
  ...named("deletion", DELETION),
  ...named("reads", READS),
  ...named("paths", PATHS),
  ["schema", READ_SCHEMA] as const,
];

await describeWithNeo4j("statements of the trees", (url) => {
  let driver: Driver;
  let young: Awaited<ReturnType<typeof writeYoung>>;
  beforeAll(async () => {
    const database = new Database({ url });
    await migrate(database);
    await database.close();
    driver = neo4j.driver(url);
    young = await writeYoung(driver);
  });
  afterAll(async () => {
    await young.remove();
    await driver.close();
  });

  test.each(STATEMENTS)("%s is planned over indexes alone", async (_, text) => {
    const names = [...text.matchAll(/\$(\w+)/g)].map(([, name = ""]) => name);
    const parameters = Object.fromEntries(names.map((name) => [name, null]));
    expect((await planOf(driver, { text, parameters })).refused).toEqual([]);
  });
});
