import { z } from "zod";
import { LIMITS, type ErrorCode } from "#core";
import { isName, isNameTooLong } from "#memory";

/** Whether a text can be stored everywhere: no NUL, no lone surrogates. */
function isStorable(text: string): boolean {
  return !text.includes("\u0000") && text.isWellFormed();
}

/** Marks an issue with the code of the registry that the request answers. */
export function issue(code: ErrorCode, message: string): { message: string; params: { code: ErrorCode } } {
  return { message, params: { code } };
}

/**
 * A text that people choose, of 1 to `bytes` UTF-8 bytes.
 * @param tooLong the code of the registry that a longer one answers; without it `invalid_request`
 */
export function text(bytes: number, tooLong?: ErrorCode): z.ZodString {
  const message = `must be at most ${bytes} bytes of UTF-8`;
  const size = tooLong === undefined ? { message } : issue(tooLong, message);
  return z
    .string()
    .min(1)
    .refine((value) => Buffer.byteLength(value) <= bytes, { ...size, abort: true })
    .refine(isStorable, issue("invalid_text", "must not have NUL characters or lone surrogates"))
    .meta({ maxLength: bytes });
}

/** A Name of the query language. */
export const name = z
  .string()
  .min(1)
  .refine((value) => !isNameTooLong(value), {
    ...issue("name_too_long", `must have at most ${LIMITS.nameLength} characters`),
    abort: true,
  })
  .refine(
    isName,
    issue("invalid_name", "must be a Name: a letter or `_`, then letters, digits, `_`, `-`, `.`, in NFC"),
  );

/** A point in time as answers tell it. */
export const instant = z.iso.datetime();

/** How a list is paged. */
export const paging = z.strictObject({
  limit: z.coerce.number().int().min(1).max(LIMITS.pageItems).default(50),
  cursor: z.string().min(1).max(2_048).optional(),
});

/** A page of items. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    items: z.array(item),
    nextCursor: z.string().optional().meta({ description: "Absent on the last page." }),
  });
}
