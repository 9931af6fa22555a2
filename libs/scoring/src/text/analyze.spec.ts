import { expect, test } from "@jest/globals";
import { analyze } from "./analyze.js";
import { STOP_WORDS } from "./stop-words.js";

test.each([
  ["Attending the ACL workshops!", ["attend", "acl", "workshop"]],
  ["Don't stop, it’s Ann's", ["dont", "stop", "ann"]],
  ["e-mail me@example.org at 10:30", ["e", "mail", "exampl", "org", "10", "30"]],
  ["naïve Straße", ["naïv", "straße"]],
  ["会议 第3天", ["会议", "第3天"]],
  ["the of and", []],
  ["", []],
])("%j has the terms %j", (text, terms) => {
  expect(analyze(text)).toEqual(terms);
});

test("repeats and order are kept", () => {
  expect(analyze("poster, then posters, then a talk")).toEqual(["poster", "poster", "talk"]);
});

test("what is longer than any word is a short term, equal to itself and to no other", () => {
  const [one, other] = ["0f".repeat(10_000), `${"0f".repeat(10_000)}1`];
  const terms = analyze(`${one} then ${one.toUpperCase()} then ${other}`);
  expect(terms[0]).toBe(terms[1]);
  expect(new Set(terms).size).toBe(2);
  expect(Math.max(...terms.map(({ length }) => length))).toBeLessThan(100);
});

test("stop words are compared before stemming", () => {
  expect(analyze("doings")).toEqual(["do"]);
});

test("the stop words are 127 different lower-case words", () => {
  expect(STOP_WORDS.size).toBe(127);
  expect([...STOP_WORDS].every((word) => /^[a-z]+$/.test(word))).toBe(true);
});
