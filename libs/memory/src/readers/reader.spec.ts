import { expect, test } from "@jest/globals";
import { EspalierError, type MemoryScope } from "#core";
import type { EntailmentModel } from "#scoring";
import { Inserter } from "../growers/insert.js";
import type { InsertRequest } from "../growers/insert-request.js";
import { retext } from "../maintenance/retext.js";
import type { Memory } from "../memory.js";
import type { QueryRequest, QueryResult } from "../results.js";
import type { MemoryServices, RunContext } from "../services.js";
import { aJob } from "../testing/a-memory.js";
import { countCalls } from "../testing/count-calls.js";
import { openServices, type TestServices } from "../testing/open-services.js";
import { WriteQueue } from "../writing/write-queue.js";
import { Reader } from "./reader.js";

const poi = (name: string, cost: number): object => ({ type: "POI", attributes: { name, cost } });
const day = (name: string, ...children: object[]): object => ({ type: "Day", attributes: { name }, children });

/** Two days of conference between two of travel. */
const trip: InsertRequest = {
  tree: {
    type: "Itinerary",
    attributes: { name: "ACL trip", days: 4 },
    metadata: { source: "mail" },
    children: [
      day("Arrival", poi("airport transfer", 30), poi("hotel check-in", 0)),
      day("Opening", poi("conference registration", 0), poi("conference keynote", 0), poi("dinner by the sea", 45)),
      day("Posters", poi("conference poster session", 0), poi("museum visit", 18)),
      day("Departure", poi("airport transfer", 30)),
    ],
  },
};

let job = 0;

async function insert(services: MemoryServices, scope: MemoryScope, request: InsertRequest): Promise<void> {
  job += 1;
  const context = { jobId: aJob(job), time: job, author: "ten" };
  await new Inserter(services, new WriteQueue()).insert(scope, request, context);
}

const request = (query: string, more: Partial<QueryRequest> = {}): QueryRequest => ({
  ...{ query, topK: 10, include: [], validate: true, trace: false, exact: false },
  ...more,
});

interface Opened extends TestServices {
  readonly scope: MemoryScope;
  readonly reader: Reader;
  readonly ask: (query: string, more?: Partial<QueryRequest>, context?: RunContext) => Promise<QueryResult>;
}

async function open(
  options: Parameters<typeof openServices>[0] & { readonly settings?: Partial<Memory> } = {},
  first: InsertRequest = trip,
): Promise<Opened> {
  const opened = openServices(options);
  const scope = await opened.createMemory(options.settings);
  await insert(opened.services, scope, first);
  const reader = new Reader(opened.services);
  return {
    ...opened,
    scope,
    reader,
    ask: (query, more, context) => reader.query(scope, request(query, more), context),
  };
}

const names = ({ rows }: QueryResult): readonly unknown[] => rows.map(({ attributes }) => attributes["name"]);

async function codeOf(run: Promise<unknown>): Promise<string> {
  return run.then(
    () => "none",
    (error: unknown) => (error instanceof EspalierError ? error.code : String(error)),
  );
}

test("a row is a node with its path, its score and its tokens", async () => {
  const { ask } = await open();
  const result = await ask('//Day[ node ~= "Posters" ]', { scorer: "similarity" });
  expect(result).toMatchObject({ query: '//Day[node~="Posters"]', revision: 1, truncated: false, warnings: [] });
  expect(result.scoring).toEqual({ scorer: "similarity", model: "bag-of-words" });
  expect(result.rows[0]).toMatchObject({
    ...{ type: "Day", path: "/Itinerary[1]/Day[3]", attributes: { name: "Posters" }, metadata: {}, score: 1 },
  });
  expect(result.rows[0]!.id).toMatch(/^nod_/);
  expect(result.tokens).toBe(result.rows.reduce((sum, { tokens }) => sum + tokens, 0));
  expect(result.trace).toBeUndefined();
});

test("an aggregate ranks days by their points of interest, with the evidence", async () => {
  const { ask } = await open();
  const result = await ask('//Day[avg(/POI[node~="conference"])]', { scorer: "lexical", include: ["evidence"] });
  expect(names(result)).toEqual(["Opening", "Posters"]);
  expect(result.rows[0]!.evidence!.map(({ aggregate, path, score }) => [aggregate, path, score > 0])).toEqual([
    [0, "/Itinerary[1]/Day[2]/POI[1]", true],
    [0, "/Itinerary[1]/Day[2]/POI[2]", true],
    [0, "/Itinerary[1]/Day[2]/POI[3]", false],
  ]);
  expect((await ask("//Day")).rows[0]).not.toHaveProperty("evidence");
});

test("subtrees have the insert shape with ids, and count as tokens", async () => {
  const { ask } = await open();
  const { rows, tokens } = await ask('//Day[name="Posters"]', { include: ["subtree"] });
  expect(rows).toHaveLength(1);
  expect(rows[0]!.subtree).toMatchObject({
    ...{ id: rows[0]!.id, type: "Day", attributes: { name: "Posters" }, metadata: {} },
    children: [
      { type: "POI", attributes: { name: "conference poster session", cost: 0 }, children: [] },
      { type: "POI", attributes: { name: "museum visit", cost: 18 } },
    ],
  });
  const alone = await ask('//Day[name="Posters"]');
  expect(tokens).toBeGreaterThan(alone.tokens);
});

test("maxTokens cuts at the first row that does not fit, and says so", async () => {
  const { ask } = await open();
  const all = await ask("//POI");
  const [first, second] = all.rows.map(({ tokens }) => tokens);
  const some = await ask("//POI", { maxTokens: first! + second! });
  expect([some.rows.length, some.truncated, some.tokens]).toEqual([2, true, first! + second!]);
  const none = await ask("//POI", { maxTokens: first! - 1 });
  expect([none.rows.length, none.truncated]).toEqual([0, true]);
  expect((await ask("//POI", { maxTokens: all.tokens })).truncated).toBe(false);
});

test("rows that topK drops count as truncation, those under minScore and minRatio do not", async () => {
  const { ask } = await open();
  const scored = '//POI[node~="conference poster session"]';
  const all = await ask(scored, { scorer: "similarity" });
  const best = await ask(scored, { scorer: "similarity", topK: 1 });
  expect([names(best), best.truncated]).toEqual([["conference poster session"], true]);
  expect(all.truncated).toBe(false);
  const ratio = await ask(scored, { scorer: "similarity", minRatio: 0.4 });
  expect(ratio.rows).toEqual(all.rows.filter(({ score }) => score >= 0.4 * all.rows[0]!.score));
});

test.each(["similarity", "lexical", "hybrid"])(
  "%s gives the same rows searched for and scored one by one",
  async (scorer) => {
    const { ask } = await open();
    const searched = await ask('//POI[node~="airport conference"]', { scorer, topK: 4 });
    const folded = await ask('//POI[node~="airport conference"][cost>=0]', { scorer, topK: 4 });
    expect(searched.rows.length).toBeGreaterThan(1);
    expect(folded.rows).toEqual(searched.rows);
  },
);

test("an attribute field is scored without a vector stored before, once, with progress, and counted in the trace", async () => {
  const { ask, services, scope, model } = await open();
  model.asked.length = 0;
  const progress: (readonly [number, number])[] = [];
  const first = await ask(
    '//POI[name~="museum visit"]',
    { scorer: "hybrid", trace: true },
    { progress: (done, total) => progress.push([done, total]) },
  );
  expect(names(first)[0]).toBe("museum visit");
  expect(JSON.stringify(first.trace)).toMatch(/"computed":[1-9]/);
  expect(progress.at(-1)![0]).toBeGreaterThan(0);
  expect(await services.lexical.indexed(scope, "name")).toBe(true);
  const asked = model.asked.length;
  const second = await ask('//POI[name~="museum visit"]', { scorer: "hybrid", trace: true });
  expect(second.rows).toEqual(first.rows);
  expect(JSON.stringify(second.trace)).not.toMatch(/"computed":[1-9]/);
  expect(model.asked.length).toBe(asked);
});

test("nodes that are inserted after an attribute field was indexed are found by it", async () => {
  const { ask, services, scope } = await open();
  await ask('//POI[name~="museum"]', { scorer: "lexical" });
  await insert(services, scope, { tree: poi("aquarium", 12) });
  expect(names(await ask('//POI[name~="aquarium"]', { scorer: "lexical" }))).toEqual(["aquarium"]);
});

test("an older revision reads as it was, and one beyond the head is refused", async () => {
  const { ask, services, scope } = await open();
  await insert(services, scope, { tree: poi("aquarium", 12) });
  expect(names(await ask('//POI[name="aquarium"]'))).toEqual(["aquarium"]);
  const before = await ask('//POI[name="aquarium"]', { asOf: 1 });
  expect([before.rows, before.revision]).toEqual([[], 1]);
  expect((await ask("//POI", { asOf: 0 })).rows).toEqual([]);
  expect(await codeOf(ask("//POI", { asOf: 3 }))).toBe("invalid_request");
});

test("states that ended are scored in reads of their time, also by an attribute that was indexed later", async () => {
  const { ask, services, scope } = await open();
  await services.tree.updateMemory(scope, { templates: { POI: "visit {name}" } }, 1);
  await retext(services, new WriteQueue(), scope, { jobId: aJob(1_000), time: 1, author: "ten" });
  for (const scorer of ["lexical", "hybrid", "similarity"]) {
    const query = '//POI[name~="museum visit"]';
    const [now, then] = [await ask(query, { scorer }), await ask(query, { scorer, asOf: 1 })];
    expect(names(now)[0]).toBe("museum visit");
    expect(then.rows.map(({ id, score }) => [id, score])).toEqual(now.rows.map(({ id, score }) => [id, score]));
  }
});

test("names that occur nowhere are refused with near names, unless validation is off", async () => {
  const { ask } = await open();
  expect(await codeOf(ask("//Dya"))).toBe("unknown_type");
  expect(await codeOf(ask("//Day[nmae~='x']"))).toBe("unknown_attribute");
  expect(await codeOf(ask("//Day["))).toBe("syntax_error");
  expect((await ask("//Dya", { validate: false })).rows).toEqual([]);
  const impossible = await ask("/Itinerary/POI");
  expect([impossible.rows, impossible.warnings.map(({ code }) => code)]).toEqual([[], ["impossible_relation"]]);
});

test("a type that comes later is known at once", async () => {
  const { ask, services, scope } = await open();
  expect(await codeOf(ask("//Note"))).toBe("unknown_type");
  await insert(services, scope, { tree: { type: "Note", attributes: { text: "x" } } });
  expect((await ask("//Note")).rows).toHaveLength(1);
});

test("an empty memory has no rows and refuses no name", async () => {
  const opened = openServices();
  const scope = await opened.createMemory();
  const result = await new Reader(opened.services).query(scope, request('//Anything[node~="x"]'));
  expect([result.rows, result.tokens, result.revision]).toEqual([[], 0, 0]);
});

test("another tenant's memory is unknown", async () => {
  const { reader, scope } = await open();
  expect(await codeOf(reader.query({ ...scope, tenant: "other" }, request("//Day")))).toBe("memory_not_found");
});

test("scorers: unknown ones, entailment without a model, and the memory's own settings", async () => {
  const { ask } = await open({ settings: { scoring: { scorer: "lexical", a: 0.7, entailmentTemplate: "{}" } } });
  expect(await codeOf(ask("//Day", { scorer: "bm25" }))).toBe("unknown_scorer");
  expect(await codeOf(ask("//Day", { scorer: "entailment" }))).toBe("scorer_unavailable");
  expect((await ask("//Day")).scoring).toEqual({ scorer: "lexical" });
  expect((await ask("//Day", { scorer: "hybrid" })).scoring).toEqual({
    scorer: "hybrid",
    model: "bag-of-words",
    a: 0.7,
  });
});

test("entailment asks its model about texts and hypotheses, and keeps the answers", async () => {
  const pairs: string[] = [];
  const entailment: EntailmentModel = {
    id: "words",
    maxTokens: 100,
    countTokens: (text) => text.length,
    entail: async (asked) =>
      asked.map(({ premise, hypothesis }) => {
        pairs.push(`${premise}|${hypothesis}`);
        const entails = premise.includes("museum") ? 0.9 : 0.1;
        return { entailment: entails, neutral: 0, contradiction: 1 - entails };
      }),
  };
  const { ask } = await open({ entailment });
  const result = await ask('//POI[name~="museum"]', { scorer: "entailment" });
  expect(result.scoring).toEqual({ scorer: "entailment", model: "words", template: "This is about {}." });
  expect([names(result)[0], result.rows[0]!.score]).toEqual(["museum visit", 0.9]);
  expect(pairs).toContain("museum visit|This is about museum.");
  const asked = pairs.length;
  await ask('//POI[name~="museum"]', { scorer: "entailment" });
  expect(pairs.length).toBe(asked);
});

test("the number of store calls does not depend on the number of rows", async () => {
  const callsOf = async (days: number): Promise<ReadonlyMap<string, number>> => {
    const counts = new Map<string, number>();
    const wrap = (services: MemoryServices): MemoryServices => ({
      ...services,
      tree: countCalls(services.tree, counts),
      vectors: countCalls(services.vectors, counts),
      lexical: countCalls(services.lexical, counts),
    });
    const many = Array.from({ length: days }, (_, index) => day(`day ${index}`, poi(`conference ${index}`, index)));
    const { ask } = await open({ wrap }, { tree: { type: "Trip", children: many } });
    counts.clear();
    const query = '//Day[avg(/POI[cost>=0][node~="conference"])]';
    const { rows } = await ask(query, { topK: 500, include: ["subtree", "evidence"] });
    expect(rows).toHaveLength(days);
    return counts;
  };
  const few = await callsOf(2);
  expect(await callsOf(300)).toEqual(few);
  expect([...few.values()].reduce((sum, calls) => sum + calls, 0)).toBeLessThanOrEqual(12);
  expect([few.get("run"), few.get("evidence"), few.get("nodes"), few.get("paths"), few.get("subtrees")]).toEqual([
    ...[1, 1, 1, 1, 1],
  ]);
});

test("a cancelled query stops", async () => {
  const { ask } = await open();
  const controller = new AbortController();
  controller.abort(new EspalierError("cancelled", "The job was cancelled."));
  expect(await codeOf(ask('//Day[node~="x"]', {}, { signal: controller.signal }))).toBe("cancelled");
});
