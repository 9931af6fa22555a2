/** A moment, exact to any number of decimals. */
export interface Instant {
  /** Whole seconds since 1970-01-01T00:00:00Z, rounded down. */
  readonly seconds: number;
  /** Decimals of the second without trailing zeros; `""` is none. String order is their order. */
  readonly fraction: string;
}

const PATTERN =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?([Zz]|[+-][0-9]{2}:[0-9]{2})?)?$/u;
const DAY_SECONDS = 86_400;

/**
 * An RFC 3339 date (00:00Z) or date-time (no zone is UTC) as an instant; `undefined` for any other text, impossible days
 * included. A leap second, which only ends a day of UTC, is the first second of the next. O(length).
 */
export function parseInstant(text: string): Instant | undefined {
  const parts = PATTERN.exec(text);
  if (parts === null) return undefined;
  const number = (index: number): number => Number(parts[index] ?? 0);
  const days = dayNumber(number(1), number(2), number(3));
  const [hour, minute, second] = [number(4), number(5), number(6)];
  const offset = offsetSeconds(parts[8] ?? "Z");
  if (days === undefined || offset === undefined || hour > 23 || minute > 59 || second > 60) return undefined;
  const seconds = days * DAY_SECONDS + hour * 3_600 + minute * 60 + second - offset;
  if (second === 60 && seconds % DAY_SECONDS !== 0) return undefined;
  return {
    seconds,
    fraction: withoutLastZeros(parts[7] ?? ""),
  };
}

/** By hand: an expression would try every zero as the first of the last ones, and a value has up to 64 KiB of them. */
function withoutLastZeros(digits: string): string {
  let end = digits.length;
  while (digits.charAt(end - 1) === "0") end -= 1;
  return digits.slice(0, end);
}

/** Negative, zero or positive as `a` is before, at or after `b`. O(decimals). */
export function compareInstants(a: Instant, b: Instant): number {
  if (a.seconds !== b.seconds) return a.seconds - b.seconds;
  return a.fraction === b.fraction ? 0 : a.fraction < b.fraction ? -1 : 1;
}

/** Days since 1970-01-01, or `undefined` if the month has no such day. */
function dayNumber(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return exists ? date.getTime() / (DAY_SECONDS * 1_000) : undefined;
}

function offsetSeconds(zone: string): number | undefined {
  if (zone === "Z" || zone === "z") return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4, 6))];
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith("-") ? -1 : 1) * (hours * 3_600 + minutes * 60);
}
