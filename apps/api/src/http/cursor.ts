import { z } from "zod";
import { EspalierError } from "#core";

/** A cursor is opaque to clients: base64url of JSON. It is never trusted: only what fits the schema comes out. */
export function encodeCursor(value: unknown): string {
  return Buffer.from(JSON.stringify(value), "utf8").toString("base64url");
}

/**
 * What a cursor holds.
 * @throws EspalierError `invalid_cursor`
 */
export function decodeCursor<Schema extends z.ZodType>(schema: Schema, cursor: string): z.output<Schema> {
  try {
    return schema.parse(JSON.parse(Buffer.from(cursor, "base64url").toString("utf8")));
  } catch (cause) {
    throw new EspalierError("invalid_cursor", "The cursor is not one that this list gave out.", { cause });
  }
}

/** A page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string;
}

/** Pages that are read at most to fill one page of a key that sees only a part of its tenant. */
const FILTERED_READS = 50;

const afterCursor = z.strictObject({ after: z.string().min(1).max(256) });

/**
 * A page of a list that is ordered by id. Reads one item more than asked for, so that the last page has no cursor.
 * `accept` leaves out what the caller's key must not see; the reads that this can cost are bounded, and a page may be
 * short of its limit then (its cursor still goes on).
 */
export async function readPage<Item extends { readonly id: string }>(
  page: { readonly limit: number; readonly cursor?: string | undefined },
  list: (query: { readonly limit: number; readonly after?: string }) => Promise<readonly Item[]>,
  accept: (item: Item) => boolean,
): Promise<Page<Item>> {
  let after = page.cursor === undefined ? undefined : decodeCursor(afterCursor, page.cursor).after;
  const items: Item[] = [];
  for (let read = 0; read < FILTERED_READS; read += 1) {
    const want = page.limit + 1;
    const found = await list({ limit: want, ...(after !== undefined && { after }) });
    items.push(...found.filter(accept));
    const last = items[page.limit - 1];
    if (items.length > page.limit && last !== undefined) {
      return { items: items.slice(0, page.limit), nextCursor: encodeCursor({ after: last.id }) };
    }
    if (found.length < want) return { items };
    after = found.at(-1)?.id;
  }
  return { items, ...(after !== undefined && { nextCursor: encodeCursor({ after }) }) };
}
