const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:\d{2})?)?$/;

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
] as const;

/**
 * An RFC 3339 date or date-time as people write it, in its own offset: `2023-05-08T13:56:00+02:00` is `8 May 2023, 13:56`,
 * `2023-05-08` is `8 May 2023`. Anything else comes back unchanged. A date that a text says in words is found by words.
 */
export function peopleTime(value: string): string {
  const match = DATE_TIME.exec(value);
  const [, year, month, day, hour, minute] = match ?? [];
  const monthName = MONTHS[Number(month) - 1];
  if (year === undefined || day === undefined || monthName === undefined) return value;
  const date = `${Number(day)} ${monthName} ${year}`;
  return hour === undefined || minute === undefined ? date : `${date}, ${hour}:${minute}`;
}
