import { expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import { parse } from "./parse.js";

const FACTOR = `"node", an attribute's name, "1-", "(", "[", "min(", "max(", "avg(" or "gmean("`;
const OPERATOR = '"~=", "=", "!=", "<", "<=", ">" or ">="';

/** Query, code, place (`line:column`), message: the text of every error that a query can meet. */
const ERRORS: readonly (readonly [query: string, code: string, place: string, message: string])[] = [
  // Query and Step
  ["", "syntax_error", "1:1", 'expected "/" or "//"; found the end of the query.'],
  [" \n ", "syntax_error", "2:2", 'expected "/" or "//"; found the end of the query.'],
  ["A", "syntax_error", "1:1", 'expected "/" or "//"; found "A".'],
  ["///A", "syntax_error", "1:3", 'expected a node type or "*"; found "/".'],
  ["//", "syntax_error", "1:3", 'expected a node type or "*"; found the end of the query.'],
  ["//·", "syntax_error", "1:3", 'expected a node type or "*"; found "·".'],
  ["//A B", "syntax_error", "1:5", 'expected "/", "//", "[" or the end of the query; found "B".'],
  ["//A)", "syntax_error", "1:4", 'expected "/", "//", "[" or the end of the query; found ")".'],
  [
    "//A | //B",
    "syntax_error",
    "1:5",
    'expected "/", "//", "[" or the end of the query; found "|" (ask one query for each path).',
  ],
  // Position
  ["//A[0]", "position_zero", "1:5", "positions begin at 1; the last is -1."],
  ["//A[-0]", "position_zero", "1:6", "positions begin at 1; the last is -1."],
  ["//A[00:2]", "position_zero", "1:5", "positions begin at 1; the last is -1."],
  ["//A[1:0]", "position_zero", "1:7", "positions begin at 1; the last is -1."],
  ["//A[:0]", "position_zero", "1:6", "positions begin at 1; the last is -1."],
  ["//A[01]", "syntax_error", "1:5", "an integer has no leading zeros."],
  ["//A[1.5]", "syntax_error", "1:5", 'expected an integer, "-" or ":"; found "1.5".'],
  ["//A[1:1e3]", "syntax_error", "1:7", 'expected an integer, "-" or "]"; found "1e3".'],
  ["//A[-x]", "syntax_error", "1:6", 'expected an integer; found "x".'],
  ["//A[-1", "syntax_error", "1:7", 'expected ":" or "]"; found the end of the query.'],
  ["//A[1:2:3]", "syntax_error", "1:8", 'expected "]"; found ":".'],
  ["//A[1][2]", "syntax_error", "1:7", "a step has one position."],
  [
    '//A[node~="x"][1]',
    "position_after_predicate",
    "1:15",
    "a position cannot follow a predicate. Put it before the predicate, start a new step, or cut by score with topK.",
  ],
  [
    '//A[max(/B[1][node~="x"][-1:])]',
    "position_after_predicate",
    "1:25",
    "a position cannot follow a predicate. Put it before the predicate, start a new step, or cut by score with topK.",
  ],
  // Predicate
  ["//A[", "syntax_error", "1:5", `expected ${FACTOR}; found the end of the query.`],
  ["//A[]", "syntax_error", "1:5", `expected ${FACTOR}; found "]".`],
  [
    "//A[@a='x']",
    "syntax_error",
    "1:5",
    `expected ${FACTOR}; found "@" (attributes are named in predicates, without @).`,
  ],
  [
    "//A/@b",
    "syntax_error",
    "1:5",
    'expected a node type or "*"; found "@" (attributes are named in predicates, without @).',
  ],
  ["//A['x']", "syntax_error", "1:5", `expected ${FACTOR}; found a string.`],
  ["//A[1", "syntax_error", "1:6", 'expected "]", ":" or "-"; found the end of the query.'],
  ['//A[1*node~="x"]', "syntax_error", "1:6", 'expected "]", ":" or "-"; found "*".'],
  ['//A[2-node~="x"]', "syntax_error", "1:6", 'expected "]" or ":"; found "-".'],
  ['//A[1.5*node~="x"]', "syntax_error", "1:5", `expected an integer, ${FACTOR}; found "1.5".`],
  ['//A[node~="x" node~="y"]', "syntax_error", "1:15", 'expected "*" or "]"; found "node".'],
  ['//A[node~="x"+node~="y"]', "syntax_error", "1:14", 'expected "*" or "]"; found "+".'],
  ['//A[node~="x"*2]', "syntax_error", "1:15", `expected ${FACTOR}; found "2".`],
  ["//A[1-", "syntax_error", "1:7", `expected ${FACTOR}; found the end of the query.`],
  // Parentheses and Mean
  ['//A[(node~="x"]', "syntax_error", "1:15", 'expected "*", "+" or ")"; found "]".'],
  ['//A[(node~="x"+)/2]', "syntax_error", "1:16", `expected ${FACTOR}; found ")".`],
  ['//A[(node~="x"+node~="y")]', "syntax_error", "1:26", 'expected "/2"; found "]".'],
  ['//A[(node~="x"+node~="y")/]', "syntax_error", "1:27", 'expected "2"; found "]".'],
  ['//A[(node~="x"+node~="y")/3]', "mean_count", "1:27", "this mean has 2 terms, so it is divided by 2, not by 3."],
  ['//A[(node~="x"+node~="y")/2.0]', "mean_count", "1:27", "this mean has 2 terms, so it is divided by 2, not by 2.0."],
  // Combine and Aggregate
  ["//A[avg()]", "syntax_error", "1:9", `expected "/", "//", ${FACTOR}; found ")".`],
  [
    '//A[avg(node~="x")]',
    "syntax_error",
    "1:18",
    'expected "*" or ","; found ")" (a fold takes two relevances or more, or a path).',
  ],
  ['//A[avg(node~="x",)]', "syntax_error", "1:19", `expected ${FACTOR}; found ")".`],
  ['//A[avg(node~="x",node~="y"]', "syntax_error", "1:28", 'expected "*", "," or ")"; found "]".'],
  ["//A[avg(/B]", "syntax_error", "1:11", 'expected "/", "//", "[" or ")"; found "]".'],
  ["//A[avg(/B,/C)]", "syntax_error", "1:11", 'expected "/", "//", "[" or ")"; found ",".'],
  [
    "//A[mean(/B)]",
    "syntax_error",
    "1:9",
    `expected ${OPERATOR}; found "(" (the functions are min, max, avg and gmean).`,
  ],
  // Local and Comparison
  [
    "//A[b]",
    "syntax_error",
    "1:6",
    `expected ${OPERATOR}; found "]" (nodes that have a child b are asked for by max(/b)).`,
  ],
  ["//A[a and b]", "syntax_error", "1:7", `expected ${OPERATOR}; found "and" (write "*": all factors must hold).`],
  ["//A[a=1 and b=2]", "syntax_error", "1:9", 'expected "*" or "]"; found "and" (write "*": all factors must hold).'],
  [
    "//A[a=1 or b=2]",
    "syntax_error",
    "1:9",
    'expected "*" or "]"; found "or" (write max(…, …): the best of them counts).',
  ],
  [
    "//A[last()]",
    "syntax_error",
    "1:9",
    `expected ${OPERATOR}; found "(" (the last node is [-1], the last two are [-2:]).`,
  ],
  [
    "//A[position()=2]",
    "syntax_error",
    "1:13",
    `expected ${OPERATOR}; found "(" (positions are written [2] or [2:5]).`,
  ],
  ["//A[not(b='x')]", "syntax_error", "1:8", `expected ${OPERATOR}; found "(" (a complement is "1-").`],
  ["//A[contains(b,'x')]", "syntax_error", "1:13", `expected ${OPERATOR}; found "(" ("~=" asks how well a text fits).`],
  ["//A[text()='x']", "syntax_error", "1:9", `expected ${OPERATOR}; found "(" (node is the text of a node).`],
  ["//A[[[node~='x']]]", "syntax_error", "1:6", `expected "node" or an attribute's name; found "[".`],
  ["//A[[node~='x'*node~='y']]", "syntax_error", "1:15", 'expected "]"; found "*".'],
  ["//A[node~=x]", "syntax_error", "1:11", 'expected a string; found "x" (put it in quotes: "x").'],
  ["//A[cost=]", "syntax_error", "1:10", 'expected a string or a number; found "]".'],
  ["//A[cost<- 5]", "syntax_error", "1:10", 'expected a string or a number; found "-".'],
  ["//A[cost<+5]", "syntax_error", "1:10", 'expected a string or a number; found "+".'],
  ["//A[cost<.5]", "syntax_error", "1:10", 'expected a string or a number; found ".".'],
  ["//A[cost<5.]", "syntax_error", "1:11", 'expected "*" or "]"; found ".".'],
  ["//A[cost=5x]", "syntax_error", "1:11", 'expected "*" or "]"; found "x".'],
  ["//A[cost=1e999]", "syntax_error", "1:10", "this number is too large for a 64-bit float."],
  ["//A[cost!5]", "syntax_error", "1:9", `expected ${OPERATOR}; found "!".`],
  // Strings
  ['//A[node~="x]', "syntax_error", "1:11", "this string is never closed."],
  ["//A[node~='x\\']", "syntax_error", "1:11", "this string is never closed."],
  ["//A[node~='\\x']", "syntax_error", "1:12", "\\x is no escape."],
  ["//A[node~='\\", "syntax_error", "1:12", "a lone \\ is no escape."],
  ["//A[node~='a\\u12g4']", "syntax_error", "1:13", "\\u takes four hexadecimal digits."],
  ["//A[node~='\\ud800']", "syntax_error", "1:11", "this string has half of a surrogate pair, which is no character."],
  ["//A[node~=“x”]", "syntax_error", "1:11", 'expected a string; found "“".'],
  // Names
  [
    "//Cafe\u0301",
    "syntax_error",
    "1:3",
    "names are letters and digits in NFC: an accented letter is one character, without combining marks.",
  ],
  [
    "//A[\u212B='x']",
    "syntax_error",
    "1:5",
    "names are letters and digits in NFC: an accented letter is one character, without combining marks.",
  ],
  [`//${"a".repeat(129)}`, "syntax_error", "1:3", "this name has more than 128 characters."],
  ["//2A", "syntax_error", "1:3", 'expected a node type or "*"; found "2".'],
  ["//🙂", "syntax_error", "1:3", 'expected a node type or "*"; found "🙂".'],
  // Places
  ["//A\r\n  [node~=\n\t5]", "syntax_error", "3:2", 'expected a string; found "5" (put it in quotes: "5").'],
  ["//A[𝒳~='🙂'] §", "syntax_error", "1:13", 'expected "/", "//", "[" or the end of the query; found "§".'],
  // The first error is the one that is told
  ["//A[ ] [node~='", "syntax_error", "1:6", `expected ${FACTOR}; found "]".`],
];

test.each(ERRORS)("%j", (query, code, place, message) => {
  let thrown: unknown;
  try {
    parse(query);
  } catch (error) {
    thrown = error;
  }
  if (!(thrown instanceof EspalierError)) throw new Error("it was accepted");
  const [line, column] = place.split(":").map(Number);
  expect(thrown.message).toBe(`Line ${line}, column ${column}: ${message}`);
  expect(thrown.code).toBe(code);
  expect(thrown.details).toEqual({
    line,
    column,
    caret: expect.stringMatching(/\n\s*\^$/),
    expected: expect.any(Array),
  });
  expect(thrown.details["expected"]).not.toEqual([]);
});
