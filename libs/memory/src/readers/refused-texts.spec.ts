import { expect, test } from "@jest/globals";
import { EspalierError, LIMITS } from "#core";
import { embedRows } from "../outbox/embed-rows.js";
import type { QueryRequest, QueryResult } from "../results.js";
import { openApart, type TestApart } from "../testing/open-apart.js";
import { Reader } from "./reader.js";

const QUERY = '//Day[node~="beach museum"]';

/** A memory with texts that the model refuses. */
async function withRefused(code: "model_refused" | "model_bad_output" | "model_unavailable") {
  const apart = openApart();
  const { services, model } = apart;
  const scope = await apart.createMemory();
  await apart.insert(scope, ["beach", "poison beach", "museum", "poison"]);
  const embed = model.embed.bind(model);
  model.embed = async (texts) => {
    if (texts.some((text) => text.startsWith("poison"))) throw new EspalierError(code, "Not this one.");
    return embed(texts);
  };
  const reader = new Reader(services);
  const ask = (more: Partial<QueryRequest> = {}): Promise<QueryResult> =>
    reader.query(scope, {
      ...{ query: QUERY, topK: 10, include: [], validate: true, trace: true, exact: false, scorer: "similarity" },
      ...more,
    });
  return { apart, scope, ask };
}

const names = ({ rows }: QueryResult): readonly unknown[] => rows.map(({ attributes }) => attributes["name"]);

/** Lets the worker try its rows until they are given up. */
async function giveUp({ services, time, claim }: TestApart): Promise<void> {
  for (let failures = 0; failures < LIMITS.rowFailures; failures += 1) {
    await claim(`c${failures}`);
    await embedRows(services, `c${failures}`, { takenOver: 0 });
    time.now += LIMITS.rowRetryMaxMs;
  }
}

test.each(["model_refused", "model_bad_output"] as const)(
  "a text with %s has no similarity, and the query says so; before and after its row was given up",
  async (code) => {
    const { apart, ask } = await withRefused(code);
    const before = await ask();
    expect(names(before)).toEqual(["beach", "museum"]);
    expect(before.warnings).toEqual([
      { code: "texts_not_embedded", message: expect.stringMatching(/^2 texts could not be embedded/) },
    ]);
    expect(JSON.stringify(before.trace)).toContain('"refused":2');
    await giveUp(apart);
    const after = await ask();
    expect([after.rows, after.warnings]).toEqual([before.rows, before.warnings]);
    const folded = await ask({ query: `${QUERY}[name!="x"]` });
    expect([folded.rows, folded.warnings]).toEqual([before.rows, before.warnings]);
    const hybrid = await ask({ scorer: "hybrid" });
    expect(names(hybrid)).toContain("poison beach");
    expect(hybrid.warnings).toEqual(before.warnings);
    expect((await ask({ scorer: "lexical" })).warnings).toEqual([]);
  },
);

test("a model that is away fails the query", async () => {
  const { ask } = await withRefused("model_unavailable");
  await expect(ask()).rejects.toMatchObject({ code: "model_unavailable" });
});
