import { expect, test } from "@jest/globals";
import { parse, print } from "#query";
import { ANYTHING, randomQuery } from "./support/random-query.js";
import { holdsFor } from "./support/seed.js";

test("parsing what is printed gives the same tree, and printing it again the same text", async () => {
  await holdsFor(3_000, randomQuery(ANYTHING, 2), (query) => {
    const text = print(query);
    const parsed = parse(text);
    expect(parsed.ast).toEqual(query);
    expect(parsed.canonical).toBe(text);
    expect(parsed.warnings).toEqual([]);
  });
}, 60_000);
