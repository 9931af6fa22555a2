import { expect, test } from "@jest/globals";
import { EspalierError, LIMITS, type MemoryScope } from "#core";
import { reembed } from "../maintenance/reembed.js";
import { embedRows } from "../outbox/embed-rows.js";
import type { QueryRequest, QueryResult } from "../results.js";
import { openApart, type TestApart } from "../testing/open-apart.js";
import { WriteQueue } from "../writing/write-queue.js";
import { Reader } from "./reader.js";

const MODEL = "bag-of-words";

/** A memory whose points are all there, and a reader that has answered about it. */
async function opened() {
  const apart = openApart();
  const scope = await apart.createMemory();
  await apart.insert(scope, ["beach", "museum", "harbour"]);
  await drain(apart, "c1");
  const lost: MemoryScope[] = [];
  const reader = new Reader(
    { ...apart.services, clock: { now: () => apart.time.now } },
    {
      onLostPoints: (one) => void lost.push(one),
    },
  );
  const ask = (more: Partial<QueryRequest> = {}): Promise<QueryResult> =>
    reader.query(scope, {
      ...{ query: '//Day[node~="beach museum"]', topK: 10, include: [], validate: true, trace: true, exact: false },
      ...{ scorer: "similarity", ...more },
    });
  return { apart, scope, lost, ask, before: await ask() };
}

async function drain({ services, claim }: TestApart, id: string): Promise<void> {
  await claim(id);
  await embedRows(services, id, { takenOver: 0 });
}

const scores = ({ rows }: QueryResult): unknown => rows.map(({ id, score }) => [id, score]);

test("a vector store that was emptied is noticed: answers stay whole, and it is repaired without being asked", async () => {
  const { apart, scope, lost, ask, before } = await opened();
  await apart.stores.apart.points.purge(scope);
  apart.time.now += LIMITS.lostPointsMs;
  expect(scores(await ask())).toEqual(scores(before));
  expect(lost).toEqual([scope]);
  await drain(apart, "c2");
  expect((await apart.services.vectors.fingerprint(scope, MODEL)).count).toBe(3);
  apart.time.now += LIMITS.lostPointsMs;
  for (const scorer of ["similarity", "lexical", "hybrid"]) expect((await ask({ scorer })).rows).not.toHaveLength(0);
  expect(lost).toHaveLength(1);
});

test("a vector store that was put back to what it was lacks what came since", async () => {
  const { apart, scope, lost, ask } = await opened();
  const { points } = apart.stores.apart;
  await apart.insert(scope, ["beach museum"]);
  await drain(apart, "c2");
  apart.time.now += LIMITS.lostPointsMs;
  const whole = await ask();
  expect(lost).toEqual([]);
  const stored = (await points.points(scope, MODEL, { limit: 10 })).points;
  await points.remove(
    scope,
    MODEL,
    stored.filter(({ born }) => born === 2),
  );
  apart.time.now += LIMITS.lostPointsMs;
  expect(scores(await ask())).toEqual(scores(whole));
  expect(lost).toEqual([scope]);
});

test("queries that read no points do not look for them", async () => {
  const { apart, ask } = await opened();
  apart.services.apart.points.areLost = () => Promise.reject(new EspalierError("store_unavailable", "down"));
  apart.time.now += LIMITS.lostPointsMs;
  expect((await ask({ query: "//Day" })).rows).toHaveLength(3);
  await expect(ask()).rejects.toMatchObject({ code: "store_unavailable" });
});

test("a query under which its memory leaves the model is answered by the new one, which stays the only one", async () => {
  const { apart, scope, ask } = await opened();
  const { services, otherModel } = apart;
  const { vectors } = services;
  await services.tree.updateMemory(scope, { nextEmbeddingModel: "other-words" }, 1);
  const topK = vectors.topK.bind(vectors);
  vectors.topK = async (...request) => {
    vectors.topK = topK;
    await reembed(services, new WriteQueue(), scope);
    return topK(...request);
  };
  const moved = await ask();
  expect(moved.scoring.model).toBe("other-words");
  expect(scores(moved)).toEqual(scores(await ask()));
  const missing = vectors.missing.bind(vectors);
  await services.tree.updateMemory(scope, { nextEmbeddingModel: MODEL }, 2);
  vectors.missing = async (...request) => {
    vectors.missing = missing;
    await reembed(services, new WriteQueue(), scope);
    return missing(...request);
  };
  apart.time.now += LIMITS.lostPointsMs;
  expect((await ask({ query: '//Day[node~="harbour"]' })).scoring.model).toBe(MODEL);
  expect(await services.apart.outbox.tracked(scope, otherModel.id)).toEqual([]);
  expect((await vectors.fingerprint(scope, otherModel.id)).count).toBe(0);
});

test("a query by terms under which its memory leaves the model is asked anew: the terms lie beside the vectors", async () => {
  const { apart, scope, ask } = await opened();
  const { services } = apart;
  const { lexical } = services;
  await services.tree.updateMemory(scope, { nextEmbeddingModel: "other-words" }, 1);
  const matches = lexical.matches.bind(lexical);
  let asked = 0;
  lexical.matches = async (...request) => {
    asked += 1;
    if (asked === 1) await reembed(services, new WriteQueue(), scope);
    // What a store answers whose old points have just gone.
    return asked === 1 ? [] : matches(...request);
  };
  expect((await ask({ scorer: "lexical" })).rows).toHaveLength(2);
  expect(asked).toBe(2);
});

test("queries of one revision read under one view, until it is old or points were lost", async () => {
  const { apart, scope, ask } = await opened();
  const { lexical } = apart.services;
  const views: unknown[] = [];
  const matches = lexical.matches.bind(lexical);
  lexical.matches = (...request) => {
    views.push(request[1].view);
    return matches(...request);
  };
  const viewOf = async (): Promise<unknown> => {
    await ask({ scorer: "lexical" });
    return views.at(-1);
  };
  // At 0 the clock is not running yet, for the cache.
  apart.time.now += LIMITS.lostPointsMs;
  const first = await viewOf();
  expect(first).toBeDefined();
  expect(await viewOf()).toBe(first);
  await apart.insert(scope, ["pier"]);
  const second = await viewOf();
  expect(second).not.toBe(first);
  apart.time.now += LIMITS.lostPointsMs + 1;
  const third = await viewOf();
  expect(third).not.toBe(second);
  await apart.stores.apart.points.purge(scope);
  apart.time.now += LIMITS.lostPointsMs;
  expect(await viewOf()).not.toBe(third);
});
