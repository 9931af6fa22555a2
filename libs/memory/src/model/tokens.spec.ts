import { expect, test } from "@jest/globals";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { loadTokenCounter } from "./tokens.js";

test("texts are counted in the o200k encoding, special tokens as text", async () => {
  const count = await loadTokenCounter();
  expect(count("")).toBe(0);
  expect(count("hello world")).toBe(2);
  expect(count("<|endoftext|>")).toBeGreaterThan(1);
});

test("a long text of ordinary words is counted exactly as in one piece", async () => {
  const count = await loadTokenCounter();
  const text = "The quick brown fox, 12,345 times over the lazy dog's bed!\n".repeat(200);
  expect(count(text)).toBe(countTokens(text));
});

test("an unbroken run of letters costs time in proportion to its length", async () => {
  const count = await loadTokenCounter();
  const run = (length: number): string => "abcdefghij".repeat(length / 10);
  const tokens = count(run(60_000));
  expect(Math.abs(tokens - 60 * count(run(1_000)))).toBeLessThan(200);
  // Surrogate pairs at the cuts survive: a lone half would cost three tokens of replacement characters.
  expect(count("𠀀".repeat(2_000))).toBeLessThanOrEqual(4 * 2_000);
});

test("runs that are nearly too long cost no more than others", async () => {
  const count = await loadTokenCounter();
  const piece = `${"abcdefgh".repeat(128)}1`;
  const many = piece.repeat(63);
  let tokens = 0;
  for (let times = 0; times < 200; times += 1) tokens = count(many);
  expect(tokens).toBe(countTokens(many));
  // Lets the time-out of the test speak, if it took so long.
  await new Promise(setImmediate);
});
