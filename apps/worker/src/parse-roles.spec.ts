import { expect, test } from "@jest/globals";
import { parseRoles } from "./parse-roles.js";

test("roles are given in any order, once each, or all at once", () => {
  expect(parseRoles("insert, query,insert")).toEqual(["query", "insert"]);
  expect(parseRoles("all")).toEqual(["query", "insert", "score", "maintain"]);
});

test("what is no role is named, with those that are", () => {
  expect(() => parseRoles("query,cook")).toThrow(
    /No such role: cook\. Roles are query, insert, score, maintain, or all/,
  );
  expect(() => parseRoles("")).toThrow(/No such role/);
});
