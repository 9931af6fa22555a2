import { expect, test } from "@jest/globals";
import { existsSync, readFileSync } from "node:fs";
import { STOP_WORDS } from "./stop-words.js";

const LIST = "../shared/data/stopwords-en.txt";
const given = existsSync(LIST) ? readFileSync(LIST, "utf8").split(/\s+/).filter(Boolean) : undefined;

(given === undefined ? test.skip : test)("the stop words are those of the list", () => {
  expect([...STOP_WORDS].sort()).toEqual([...(given ?? [])].sort());
});
