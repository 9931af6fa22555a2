import { expect, test } from "@jest/globals";
import { parseTime, sessionOf } from "./locomo-data.js";

test("times of the data set become RFC 3339", () => {
  expect(parseTime("1:56 pm on 8 May, 2023")).toBe("2023-05-08T13:56:00Z");
  expect(parseTime("12:17 am on 10 January, 2024")).toBe("2024-01-10T00:17:00Z");
  expect(parseTime("12:05 pm on 1 December, 2022")).toBe("2022-12-01T12:05:00Z");
  expect(() => parseTime("yesterday")).toThrow("not a time: yesterday");
});

test("a turn's id names its session", () => {
  expect(sessionOf("D12:7")).toBe("D12");
});
