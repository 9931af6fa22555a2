import { expect, test } from "@jest/globals";
import { EspalierError, LIMITS } from "#core";
import type { Outbox, OutboxRow } from "../ports/outbox.js";
import { openApart } from "../testing/open-apart.js";
import { Relay, type ScorePort } from "./relay.js";

/** A row of a tenant, as far as a relay looks at it. */
function aRow(tenant: string, number: number, tokens: number): OutboxRow {
  return {
    ...{ scope: { tenant, memory: `mem_${tenant}` }, id: `nod_${number}`, born: 1, field: "", model: "m" },
    ...{ task: "vector", text: "text", tokens, failures: 0 },
  };
}

/** Rows in memory by tenant, and what became of them. */
class Rows implements Pick<Outbox, "backlog" | "claim" | "release"> {
  readonly claims = new Map<string, OutboxRow[]>();
  readonly released: string[] = [];
  fails: EspalierError | undefined;

  constructor(readonly free: Map<string, OutboxRow[]>) {}

  backlog: Outbox["backlog"] = async (limit) =>
    [...this.free]
      .filter(([, rows]) => rows.length > 0)
      .slice(0, limit)
      .map(([tenant, rows]) => ({ tenant, rows: rows.length }));

  claim: Outbox["claim"] = async (tenant, { id, rows: limit, tokens }) => {
    if (this.fails !== undefined) throw this.fails;
    const free = this.free.get(tenant) ?? [];
    const claimed: OutboxRow[] = [];
    let sum = 0;
    while (claimed.length < limit && sum < tokens && free[0] !== undefined) {
      sum += free[0].tokens;
      claimed.push(free.shift()!);
    }
    this.claims.set(id, [...(this.claims.get(id) ?? []), ...claimed]);
    return claimed;
  };

  release: Outbox["release"] = async (id) => {
    this.released.push(id);
  };
}

/** Score workers that have so many claims, and take no more. */
class Score implements ScorePort {
  readonly submitted: string[] = [];
  active = 0;
  fails: EspalierError | undefined;
  load: ScorePort["load"] = async () => ({ waiting: this.submitted.length, active: this.active });
  submit: ScorePort["submit"] = async (claim) => {
    if (this.fails !== undefined) throw this.fails;
    this.submitted.push(claim);
  };
}

function open(backlog: Readonly<Record<string, readonly number[]>>, weights: Readonly<Record<string, number>> = {}) {
  const free = new Map(
    Object.entries(backlog).map(([tenant, sizes]) => [
      tenant,
      sizes.map((tokens, index) => aRow(tenant, index, tokens)),
    ]),
  );
  const [rows, score] = [new Rows(free), new Score()];
  let claims = 0;
  const options = { outbox: rows, score, claimId: () => `claim-${(claims += 1)}`, waiting: 2 };
  const relay = new Relay({ ...options, weights: async () => new Map(Object.entries(weights)) });
  return { rows, score, relay, options };
}

const sizes = (count: number, tokens: number): readonly number[] => Array.from({ length: count }, () => tokens);

test("claims have at most so many rows and tokens, and rows of tenants that share the backlog", async () => {
  const { rows, relay } = open({ a: sizes(500, 30), b: sizes(500, 300), c: sizes(3, 10) });
  expect(await relay.turn()).toMatchObject({ claims: 2 });
  for (const claim of rows.claims.values()) {
    expect(claim.length).toBeLessThanOrEqual(LIMITS.relayBatchRows);
    expect(claim.reduce((sum, { tokens }) => sum + tokens, 0)).toBeLessThanOrEqual(LIMITS.relayBatchTokens + 300);
  }
  const tenants = [...rows.claims.values()].flat().map(({ scope }) => scope.tenant);
  expect(new Set(tenants)).toEqual(new Set(["a", "b", "c"]));
});

test("a few rows go at once when nothing waits, and gather while something does", async () => {
  const { rows, score, relay } = open({ a: [5], b: [7] });
  expect(await relay.turn()).toEqual({ claims: 1, rows: 2 });
  rows.free.set("a", [aRow("a", 9, 5)]);
  expect(await relay.turn()).toEqual({ claims: 0, rows: 0 });
  score.submitted.length = 0;
  expect(await relay.turn()).toEqual({ claims: 1, rows: 1 });
});

test("as many claims wait as workers have, and never fewer than asked for", async () => {
  const { score, relay } = open({ a: sizes(2_000, 10) });
  expect(await relay.turn()).toMatchObject({ claims: 2 });
  expect(await relay.turn()).toEqual({ claims: 0, rows: 0 });
  score.active = 5;
  expect(await relay.turn()).toMatchObject({ claims: 3 });
});

test("a flood of one tenant does not delay the others, and weights are shares", async () => {
  const weights: Readonly<Record<string, number>> = { flood: 1, a: 1, b: 2 };
  const backlog = { flood: sizes(9_000, 40), a: sizes(9_000, 25), b: sizes(9_000, 60) };
  const { rows, score, relay } = open(backlog, weights);
  for (let turn = 0; turn < 60; turn += 1) {
    score.submitted.length = 0;
    await relay.turn();
  }
  const share = (tenant: string): number => {
    const claimed = [...rows.claims.values()].flat().filter(({ scope }) => scope.tenant === tenant);
    return claimed.reduce((sum, { tokens }) => sum + tokens, 0) / (weights[tenant] ?? 1);
  };
  const shares = Object.keys(backlog).map(share);
  const total = shares.reduce((sum, one) => sum + one, 0);
  const squares = shares.reduce((sum, one) => sum + one * one, 0);
  expect(total ** 2 / (shares.length * squares)).toBeGreaterThan(0.99);
});

test("a claim that cannot be brought on its way is free again at once", async () => {
  const { rows, score, relay } = open({ a: sizes(100, 10) });
  score.fails = new EspalierError("queue_unavailable", "down");
  await expect(relay.turn()).rejects.toMatchObject({ code: "queue_unavailable" });
  expect(rows.released).toEqual(["claim-1"]);
  score.fails = undefined;
  rows.fails = new EspalierError("store_unavailable", "down");
  await expect(relay.turn()).rejects.toMatchObject({ code: "store_unavailable" });
});

test("relays that know nothing of each other bring every row on its way once", async () => {
  const { services, createMemory, insert } = openApart();
  const scopes = await Promise.all([createMemory(), createMemory()]);
  for (const scope of scopes)
    await insert(
      scope,
      Array.from({ length: 90 }, (_, index) => `day ${index}`),
    );
  const score = new Score();
  let claims = 0;
  const options = {
    ...{ outbox: services.apart.outbox, score, waiting: 9 },
    ...{ claimId: () => `claim-${(claims += 1)}`, weights: async () => new Map() },
  };
  const turns = await Promise.all([new Relay(options), new Relay(options)].map((relay) => relay.turn()));
  expect(turns.reduce((sum, { rows }) => sum + rows, 0)).toBe(180);
  const rows = await Promise.all(score.submitted.map((claim) => services.apart.outbox.claimed(claim, 1_000)));
  expect(new Set(rows.flat().map(({ scope, id }) => `${scope.memory} ${id}`)).size).toBe(180);
});
