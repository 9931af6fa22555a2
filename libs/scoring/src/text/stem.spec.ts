import { expect, test } from "@jest/globals";
import { stemmer } from "stemmer";
import { stem } from "./stem.js";

// The examples of Porter's paper, step by step, with what the later steps make of them.
test.each([
  ["caresses", "caress"],
  ["ponies", "poni"],
  ["ties", "ti"],
  ["caress", "caress"],
  ["cats", "cat"],
  ["feed", "feed"],
  ["agreed", "agre"],
  ["plastered", "plaster"],
  ["bled", "bled"],
  ["motoring", "motor"],
  ["sing", "sing"],
  ["conflated", "conflat"],
  ["troubled", "troubl"],
  ["sized", "size"],
  ["hopping", "hop"],
  ["tanned", "tan"],
  ["falling", "fall"],
  ["hissing", "hiss"],
  ["fizzed", "fizz"],
  ["failing", "fail"],
  ["filing", "file"],
  ["happy", "happi"],
  ["sky", "sky"],
  ["relational", "relat"],
  ["conditional", "condit"],
  ["rational", "ration"],
  ["valenci", "valenc"],
  ["digitizer", "digit"],
  ["conformabli", "conform"],
  ["radicalli", "radic"],
  ["differentli", "differ"],
  ["vileli", "vile"],
  ["analogousli", "analog"],
  ["vietnamization", "vietnam"],
  ["predication", "predic"],
  ["operator", "oper"],
  ["feudalism", "feudal"],
  ["decisiveness", "decis"],
  ["hopefulness", "hope"],
  ["callousness", "callous"],
  ["formaliti", "formal"],
  ["sensitiviti", "sensit"],
  ["sensibiliti", "sensibl"],
  ["triplicate", "triplic"],
  ["formative", "form"],
  ["electrical", "electr"],
  ["goodness", "good"],
  ["revival", "reviv"],
  ["allowance", "allow"],
  ["gyroscopic", "gyroscop"],
  ["adjustable", "adjust"],
  ["replacement", "replac"],
  ["adjustment", "adjust"],
  ["dependent", "depend"],
  ["adoption", "adopt"],
  ["homologou", "homolog"],
  ["activate", "activ"],
  ["bowdlerize", "bowdler"],
  ["probate", "probat"],
  ["rate", "rate"],
  ["cease", "ceas"],
  ["controll", "control"],
  ["roll", "roll"],
  ["generalizations", "gener"],
  ["oscillators", "oscil"],
])("%s has the stem %s", (word, expected) => {
  expect(stem(word)).toBe(expected);
});

test.each([
  ["possibly", "possibli"],
  ["archaeology", "archaeologi"],
  ["us", "u"],
])("the algorithm is that of 1980, without later departures: %s has the stem %s", (word, expected) => {
  expect(stem(word)).toBe(expected);
});

const SUFFIXES =
  "s es ies ed eed ing y er ly ness ful ational ization iveness tional ation able ible ment ement ion ee ll";
const BEGINNINGS = "tr ho hopp rel cond agre plast fil siz tann oscill y yell boy syzyg conform rad abil x b2b naïv";

test("agrees with another implementation wherever that one does not depart", () => {
  for (const beginning of BEGINNINGS.split(" ")) {
    for (const first of SUFFIXES.split(" ")) {
      for (const second of SUFFIXES.split(" ")) {
        const word = beginning + first + second;
        const departs = /(bly|logy|bli|logi)/.test(word) || word.length < 3;
        expect(departs ? word : `${word}: ${stem(word)}`).toBe(departs ? word : `${word}: ${stemmer(word)}`);
      }
    }
  }
});

test("a word as long as an attribute is stemmed at once", async () => {
  for (let times = 0; times < 50; times += 1) expect(stem("y".repeat(65_536)).length).toBeGreaterThan(65_000);
  // Lets the time-out of the test speak, if it took so long.
  await new Promise(setImmediate);
});
