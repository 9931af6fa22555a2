import { expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import type { Standing } from "../distributed/point-ledger.js";
import { Standings } from "./standings.js";

const SCOPE = { tenant: "ten_a", memory: "mem_1" };
const QUIET: Standing = { model: "m", nodes: 1, waits: false, ended: [] };

/** Standings over a ledger that answers what it is told, and counts. */
function over(...answers: readonly (Standing | EspalierError)[]) {
  let reads = 0;
  const standing = async (): Promise<Standing> => {
    const answer = answers[Math.min(reads, answers.length - 1)]!;
    reads += 1;
    if (answer instanceof EspalierError) throw answer;
    return answer;
  };
  const ledger = { standing } as unknown as ConstructorParameters<typeof Standings>[0];
  return { standings: new Standings(ledger), reads: () => reads };
}

test("the searches of a view share one read, under the memory's own model by either name", async () => {
  const { standings, reads } = over(QUIET);
  const view = {};
  standings.ahead(SCOPE, { field: "", view });
  expect(await standings.of(SCOPE, { field: "", view })).toEqual(QUIET);
  expect(await standings.of(SCOPE, { field: "", model: "m", view })).toEqual(QUIET);
  expect(reads()).toBe(1);
  await standings.of(SCOPE, { field: "title", view });
  await standings.of(SCOPE, { field: "", model: "other", view });
  expect(reads()).toBe(3);
});

test("another view is read for itself, and so is none", async () => {
  const { standings, reads } = over(QUIET);
  await standings.of(SCOPE, { field: "", view: {} });
  await standings.of(SCOPE, { field: "", view: {} });
  await standings.of(SCOPE, { field: "" });
  await standings.of(SCOPE, { field: "" });
  standings.ahead(SCOPE, { field: "" });
  expect(reads()).toBe(4);
});

test("while texts wait each search reads: what has ended can change with every vector that is stored", async () => {
  const ended = { ...QUIET, ended: [{ id: "nod_1", born: 1, field: "", died: 2 }] };
  const { standings, reads } = over({ ...QUIET, waits: true }, ended);
  const view = {};
  expect((await standings.of(SCOPE, { field: "", view })).ended).toEqual([]);
  expect(await standings.of(SCOPE, { field: "", view })).toEqual(ended);
  expect(await standings.of(SCOPE, { field: "", view })).toEqual(ended);
  expect(reads()).toBe(2);
});

test("a read that failed ahead is made again by the search", async () => {
  const { standings, reads } = over(new EspalierError("store_unavailable", "away"), QUIET);
  const view = {};
  standings.ahead(SCOPE, { field: "", view });
  await new Promise(setImmediate);
  expect(await standings.of(SCOPE, { field: "", view })).toEqual(QUIET);
  expect(reads()).toBe(2);
});
