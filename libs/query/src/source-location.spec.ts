import { expect, test } from "@jest/globals";
import { locate } from "./source-location.js";

test("lines end at \\n, \\r\\n and \\r", () => {
  const text = "ab\ncd\r\nef\rgh";
  const places = ["b", "c", "e", "h"].map((letter) => locate(text, text.indexOf(letter)));
  expect(places.map(({ line, column }) => [line, column])).toEqual([
    [1, 2],
    [2, 1],
    [3, 1],
    [4, 2],
  ]);
});

test("columns count characters, not UTF-16 units", () => {
  expect(locate("🙂🙂x", 4)).toEqual({ line: 1, column: 3, caret: "🙂🙂x\n  ^" });
});

test("the caret stands under the place, tabs kept", () => {
  expect(locate("//A\n\t[x]\n//B", 6).caret).toBe("\t[x]\n\t ^");
});

test("the end of the text is a place", () => {
  expect(locate("//A", 3)).toEqual({ line: 1, column: 4, caret: "//A\n   ^" });
});

test("of a long line a window is shown", () => {
  const { column, caret } = locate(`${"a".repeat(500)}!${"b".repeat(500)}`, 500);
  const [line = "", under = ""] = caret.split("\n");
  expect(column).toBe(501);
  expect(line).toBe(`…${"a".repeat(60)}!${"b".repeat(59)}…`);
  expect(line.charAt(under.indexOf("^"))).toBe("!");
});
