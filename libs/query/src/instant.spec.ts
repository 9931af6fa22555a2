import { expect, test } from "@jest/globals";
import { compareInstants, parseInstant } from "./instant.js";

test.each([
  ["1970-01-01", 0, ""],
  ["1969-12-31T23:59:59Z", -1, ""],
  ["0001-01-01", -62_135_596_800, ""],
  ["0099-03-01", -59_037_897_600, ""],
  ["9999-12-31T23:59:59.5-23:59", 253_402_300_799 + 86_340, "5"],
  ["2024-02-29T12:00:00.120+05:30", 1_709_188_200, "12"],
  ["2026-05-01 10:00:00", 1_777_629_600, ""],
  ["2026-12-31T23:59:60.5Z", 1_798_761_600, "5"],
  ["2027-01-01T01:59:60+02:00", 1_798_761_600, ""],
  ["1969-12-31T23:59:60Z", 0, ""],
  ["1968-12-31T23:59:60Z", -31_536_000, ""],
])("%s is %d s", (text, seconds, fraction) => {
  expect(parseInstant(text)).toEqual({ seconds, fraction });
});

test.each([
  "2026-5-1",
  "2026-13-01",
  "2026-00-10",
  "2026-02-29",
  "2026-04-31",
  "2026-05-01T",
  "2026-05-01T10:00",
  "2026-05-01T24:00:00Z",
  "2026-05-01T10:60:00Z",
  "2026-05-01T10:00:60Z",
  "2026-05-01T23:59:60+01:00",
  "2026-05-01T10:00:61Z",
  "2026-05-01T10:00:00.Z",
  "2026-05-01T10:00:00+0200",
  "2026-05-01T10:00:00+24:00",
  "2026-05-01Z",
  "x2026-05-01",
  "",
])("%j is no instant", (text) => {
  expect(parseInstant(text)).toBeUndefined();
});

test("instants order by seconds, then by decimals", () => {
  const ordered = ["1969-12-31T23:59:59.9Z", "1970-01-01", "1970-01-01T00:00:00.05Z", "1970-01-01T00:00:00.5Z"];
  const instants = ordered.map((text) => parseInstant(text)!);
  for (const [i, a] of instants.entries()) {
    for (const [j, b] of instants.entries()) expect(Math.sign(compareInstants(a, b))).toBe(Math.sign(i - j));
  }
});

test("a value of 64 KiB of zeros behind the point is read at once", async () => {
  const zeros = "0".repeat(65_000);
  for (let times = 0; times < 8; times += 1) {
    expect(parseInstant(`2026-05-01T10:00:00.${zeros}1Z`)?.fraction).toBe(`${zeros}1`);
    expect(parseInstant(`2026-05-01T10:00:00.1${zeros}Z`)?.fraction).toBe("1");
  }
  // Lets the time-out of the test speak, if it took so long.
  await new Promise(setImmediate);
});
