import { expect, test } from "@jest/globals";
import { z } from "zod";
import { decodeCursor, encodeCursor, readPage } from "./cursor.js";

const items = Array.from({ length: 25 }, (_, index) => ({ id: `id_${String(index).padStart(2, "0")}`, index }));

const list = async (query: { readonly limit: number; readonly after?: string }) => {
  const start = query.after === undefined ? 0 : items.findIndex(({ id }) => id === query.after) + 1;
  return items.slice(start, start + query.limit);
};

async function walk(limit: number, accept: (item: { index: number }) => boolean): Promise<number[]> {
  const seen: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await readPage({ limit, cursor }, list, accept);
    expect(page.items.length).toBeLessThanOrEqual(limit);
    seen.push(...page.items.map(({ index }) => index));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return seen;
}

test("pages add up to the list, once each, whatever the limit", async () => {
  for (const limit of [1, 4, 5, 25, 100])
    expect(await walk(limit, () => true)).toEqual(items.map(({ index }) => index));
});

test("what the key must not see is left out without shortening the walk", async () => {
  const even = items.map(({ index }) => index).filter((index) => index % 2 === 0);
  for (const limit of [1, 3, 13]) expect(await walk(limit, ({ index }) => index % 2 === 0)).toEqual(even);
});

test("the last page has no cursor, also when it is full", async () => {
  expect((await readPage({ limit: 25 }, list, () => true)).nextCursor).toBeUndefined();
});

test("a cursor that is not ours is refused by name", () => {
  const schema = z.strictObject({ after: z.string() });
  for (const cursor of ["x", encodeCursor({ before: "y" }), encodeCursor(null), "%%%"]) {
    expect(() => decodeCursor(schema, cursor)).toThrow(expect.objectContaining({ code: "invalid_cursor" }));
  }
  expect(decodeCursor(schema, encodeCursor({ after: "z" }))).toEqual({ after: "z" });
});
