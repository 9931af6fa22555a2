import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import type { Answer } from "../support/api-client.js";

let bench: ApiBench;
beforeAll(async () => {
  bench = await openApiBench({
    handlers: {
      insert: async (_payload, context) => {
        context.stored({ nodes: 2, bytes: 64 });
        return { revision: 1, inserted: 2, roots: [] };
      },
    },
    environment: { ESPALIER_TENANT_NODES: "1000" },
  });
});
afterAll(() => bench.close());

const usage = (query: string, key?: string): Promise<Answer> =>
  bench.client.call("GET", `/v1/admin/usage${query}`, key === undefined ? {} : { key });

const daysOf = ({ body }: Answer) =>
  body.items as unknown as readonly { readonly day: string; readonly nodes: number }[];

const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

test("an admin sees the totals, the limits and the last thirty days of its tenant, the latest first", async () => {
  const key = await bench.key({ tenant: "ten_used", scopes: ["write", "admin"] });
  const memory = await bench.client.memory({}, key);
  expect((await bench.client.insert(memory, { tree: { type: "Day" } }, { key })).status).toBe(200);
  const answer = await usage("", key);
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({
    tenant: "ten_used",
    totals: { memories: 1, nodes: 0, bytes: 0, keys: 1 },
    limits: { memories: 100_000, keys: 10_000, nodes: 1_000, requestsPerSecond: 1_000 },
  });
  const days = daysOf(answer);
  expect(days).toHaveLength(30);
  expect(
    days
      .map(({ day }) => day)
      .toSorted()
      .toReversed(),
  ).toEqual(days.map(({ day }) => day));
  // A test at midnight sees it as yesterday's.
  expect(days.slice(0, 2)).toContainEqual(
    expect.objectContaining({
      nodes: 2,
      bytes: 64,
      modelTokens: 0,
      jobs: expect.objectContaining({ insert: { completed: 1, failed: 0, dead: 0, cancelled: 0 } }),
    }),
  );
});

test("days are told from one to another, in pages; what is no longer kept and what is to come is left out", async () => {
  const range = `?from=${daysAgo(6)}&to=${daysAgo(2)}`;
  const first = await usage(`${range}&limit=2`);
  expect(daysOf(first).map(({ day }) => day)).toEqual([daysAgo(2), daysAgo(3)]);
  const second = await usage(`${range}&limit=3&cursor=${first.body.nextCursor}`);
  expect(daysOf(second).map(({ day }) => day)).toEqual([daysAgo(4), daysAgo(5), daysAgo(6)]);
  expect(second.body.nextCursor).toBeUndefined();
  const all = await usage("?from=0001-01-01&to=9999-12-31&limit=1000");
  expect(daysOf(all)).toHaveLength(100);
  expect(all.body.nextCursor).toBeUndefined();
  for (const none of ["?from=2999-01-01&to=2999-12-31", "?from=1999-01-01&to=1999-12-31"]) {
    const answer = await usage(none);
    expect([answer.status, daysOf(answer), answer.body.nextCursor]).toEqual([200, [], undefined]);
  }
});

test("an operator sees any tenant that there is; an admin no other, and a bound key none", async () => {
  await bench.key({ tenant: "ten_seen" });
  const operator = await bench.key({ tenant: "operator", scopes: ["operator"] });
  expect((await usage("?tenant=ten_seen", operator)).body).toMatchObject({ tenant: "ten_seen" });
  expect((await usage("?tenant=ten_nobody", operator)).body.code).toBe("tenant_not_found");
  expect((await usage("", operator)).body.errors[0]?.path).toBe("tenant");
  const admin = await bench.key({ tenant: "ten_other", scopes: ["admin"] });
  const refusals = await Promise.all(["ten_seen", "ten_nobody"].map((tenant) => usage(`?tenant=${tenant}`, admin)));
  expect(refusals.map(({ status }) => status)).toEqual([403, 403]);
  expect(new Set(refusals.map(({ body }) => body.detail)).size).toBe(1);
  expect((await usage("", await bench.key({ scopes: ["admin"], memoryPrefix: "mem_1" }))).status).toBe(403);
  expect((await usage("", await bench.key({ scopes: ["read", "write"] }))).status).toBe(403);
});

test("parameters that are none are refused by their names", async () => {
  const wrong: Readonly<Record<string, string>> = {
    limit: "-1",
    from: "yesterday",
    to: "2026-02-30",
    tenant: "x".repeat(65),
  };
  for (const [name, value] of Object.entries(wrong)) {
    const { status, body } = await usage(`?${name}=${value}`);
    expect([status, body.code, body.errors[0]?.path]).toEqual([400, "invalid_request", name]);
  }
  for (const limit of ["NaN", "1e999", "0", "1001", "2.5"]) expect((await usage(`?limit=${limit}`)).status).toBe(400);
  expect((await usage("?from=2026-02-01&to=2026-01-01")).body.errors[0]?.path).toBe("from");
  expect((await usage("?cursor=eyJiZWZvcmUiOiJ4In0")).body.code).toBe("invalid_cursor");
  expect((await usage("?since=2026-01-01")).status).toBe(400);
});
