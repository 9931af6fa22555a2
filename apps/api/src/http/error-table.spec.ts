import { expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";
import { ERRORS } from "#core";

/** Rows of the table in docs/api.md. */
function documented(): ReadonlyMap<string, string> {
  const page = readFileSync(new URL("../../../../docs/api.md", import.meta.url), "utf8");
  const table = page.slice(page.indexOf("<!-- errors:begin -->"), page.indexOf("<!-- errors:end -->"));
  const rows = table
    .split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .filter((cells) => cells[1]?.startsWith("`"));
  return new Map(
    rows.map(([, code = "", status = "", title = "", advice = ""]) => [
      code.replaceAll("`", ""),
      `${status} ${title}: ${advice}`,
    ]),
  );
}

test("docs/api.md has exactly the codes of the registry, with their statuses, titles and advice", () => {
  const registry = new Map(
    Object.entries(ERRORS).map(([code, { status, title, advice }]) => [code, `${status} ${title}: ${advice}`]),
  );
  expect(Object.fromEntries(documented())).toEqual(Object.fromEntries(registry));
});
