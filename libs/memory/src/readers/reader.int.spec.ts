import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { systemClock } from "#core";
import { inMemoryStores, openStores, type Stores } from "#stores";
import { Inserter } from "../growers/insert.js";
import { embedFields } from "../maintenance/embed-fields.js";
import { reembed } from "../maintenance/reembed.js";
import { retext } from "../maintenance/retext.js";
import type { QueryResult } from "../results.js";
import { aJob } from "../testing/a-memory.js";
import { openServices } from "../testing/open-services.js";
import { WriteQueue } from "../writing/write-queue.js";
import { Reader } from "./reader.js";

const WORDS = ["conference", "museum", "beach", "dinner", "hotel", "poster", "concert", "garden"];
const word = (seed: number): string => WORDS[seed % WORDS.length] ?? "";

/** Days of points of interest with options, some of which have no text. */
const tree = Array.from({ length: 40 }, (_, d) => ({
  type: "Day",
  attributes: { name: `${word(d)} day ${d}`, weekday: d % 7 },
  children: Array.from({ length: 5 }, (_each, p) => ({
    type: "POI",
    attributes: { name: `${word(d + p)} ${word(3 * d + 2 * p)}`, cost: (d * p) % 50, open: p % 2 === 0 },
    metadata: { source: `mail-${d}` },
    children: p === 0 ? [{ type: "Gap" }, { type: "Option", attributes: { note: word(d * d + 1) } }] : [],
  })),
}));

const QUERIES = [
  "//Day[3]",
  "/Day[-1]/POI",
  '//POI[node~="museum dinner"]',
  '//POI[cost<20][node~="beach"]',
  '//Day[2:9]//POI[name~="hotel"]',
  '//Day[avg(/POI[node~="conference"])]',
  '//Day[max(/POI[open="true"]/Option[node~="garden"]) * node~="day"]',
  '//*[1-node~="concert"]',
  '//Option[source="mail-3"]',
];

/** Everything that a memory does, in one life; answers what its queries said on the way. */
async function live(stores: Stores): Promise<readonly QueryResult[]> {
  const { services, createMemory } = openServices({ stores });
  const scope = await createMemory();
  const queue = new WriteQueue();
  const inserter = new Inserter(services, queue);
  const reader = new Reader(services);
  const results: QueryResult[] = [];
  const ask = async (asOf?: number): Promise<void> => {
    for (const query of QUERIES) {
      for (const scorer of ["similarity", "lexical", "hybrid"]) {
        const result = await reader.query(scope, {
          ...{
            query,
            scorer,
            topK: 10_000,
            include: ["evidence", "subtree"],
            validate: true,
            trace: false,
            exact: true,
          },
          ...(asOf !== undefined && { asOf }),
        });
        results.push(result);
      }
    }
  };
  await inserter.insert(scope, { tree: tree.slice(0, 30) }, { jobId: aJob(1), time: 1, author: "a" });
  await ask();
  await inserter.insert(scope, { tree: tree.slice(30) }, { jobId: aJob(2), time: 2, author: "a" });
  await embedFields(services, scope);
  await services.tree.updateMemory(scope, { templates: { POI: "visit {name}" } }, 3);
  await retext(services, queue, scope, { jobId: aJob(3), time: 3, author: "a" });
  await ask();
  await ask(1);
  await services.tree.updateMemory(scope, { nextEmbeddingModel: "other-words" }, 4);
  await reembed(services, queue, scope, {});
  await ask();
  return results;
}

/** Stores may differ by the noise of their arithmetic: rows are compared by id, scores to four digits. */
function expectSame(found: QueryResult, expected: QueryResult): void {
  expect({ ...found, rows: found.rows.length }).toEqual({ ...expected, rows: expected.rows.length });
  const rows = new Map(found.rows.map((row) => [row.id, row]));
  for (const { score, evidence, ...rest } of expected.rows) {
    const row = rows.get(rest.id)!;
    expect(row).toMatchObject(rest);
    expect(row.score).toBeCloseTo(score, 4);
    const scores = new Map(row.evidence?.map((one) => [one.id, one.score]));
    for (const one of evidence ?? []) expect(scores.get(one.id)).toBeCloseTo(one.score, 4);
  }
}

test("the life of a memory is the same over SQLite as over the reference stores", async () => {
  const folder = await mkdtemp(join(tmpdir(), "espalier-memory-"));
  try {
    const expected = await live(inMemoryStores());
    const stores = openStores({ folder, clock: systemClock });
    const found = await live(stores).finally(() => stores.close());
    expect(found.length).toBe(4 * 3 * QUERIES.length);
    expect(expected.some(({ rows }) => rows.length > 0)).toBe(true);
    for (const [index, result] of found.entries()) expectSame(result, expected[index]!);
  } finally {
    await rm(folder, { recursive: true });
  }
});
