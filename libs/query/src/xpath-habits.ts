import type { Token } from "./lexer.js";

/** What is written otherwise here than in XPath, by the token at which it shows. */
const TOKENS: Readonly<Record<string, string>> = {
  "@": "attributes are named in predicates, without @",
  and: 'write "*": all factors must hold',
  or: "write max(…, …): the best of them counts",
  "|": "ask one query for each path",
};

/** The same by the name of a function. */
const FUNCTIONS: Readonly<Record<string, string>> = {
  last: "the last node is [-1], the last two are [-2:]",
  position: "positions are written [2] or [2:5]",
  not: 'a complement is "1-"',
  contains: '"~=" asks how well a text fits',
  text: "node is the text of a node",
};

/** Why a token cannot stand where it does, if it is a habit from XPath; undefined otherwise. */
export function xpathHabit(token: Token): string | undefined {
  return token.kind !== "string" && Object.hasOwn(TOKENS, token.text) ? TOKENS[token.text] : undefined;
}

/** What stands here for a function that does not exist. */
export function insteadOfFunction(name: string): string {
  const known = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  return known ?? "the functions are min, max, avg and gmean";
}
