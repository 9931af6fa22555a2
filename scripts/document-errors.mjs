/** Writes the table of errors of docs/api.md from the registry: `node scripts/document-errors.mjs`. */
import { readFile, writeFile } from "node:fs/promises";
import { format, resolveConfig } from "prettier";
import { ERRORS } from "../libs/core/src/errors.ts";

const PAGE = new URL("../docs/api.md", import.meta.url);
const [BEGIN, END] = ["<!-- errors:begin -->", "<!-- errors:end -->"];

const rows = Object.entries(ERRORS).map(
  ([code, { status, title, advice }]) => `| \`${code}\` | ${status} | ${title} | ${advice.replaceAll("|", "\\|")} |`,
);
const table = ["| code | status | title | what to do |", "| --- | --- | --- | --- |", ...rows].join("\n");
const page = await readFile(PAGE, "utf8");
const [head, rest] = page.split(BEGIN);
const tail = rest?.split(END)[1];
if (head === undefined || tail === undefined) throw new Error("docs/api.md has lost the marks of its table of errors.");
const options = { ...(await resolveConfig(PAGE)), filepath: PAGE.pathname };
await writeFile(PAGE, await format(`${head}${BEGIN}\n\n${table}\n\n${END}${tail}`, options));
