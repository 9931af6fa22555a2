import { readFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import { insertPayload } from "#jobs";
import { checkInsert, type Structure, type TreeNode } from "#memory";

const read = (name: string): Promise<string> => readFile(`examples/${name}`, "utf8");

/** As the insert route checks it: first the body's shape, then the tree. */
function check(body: unknown, structure: Structure) {
  return checkInsert(insertPayload.parse(body), { structure });
}

async function rootsOf(name: string): Promise<readonly TreeNode[]> {
  const checked = check(JSON.parse(await read(name)), "artifact");
  return checked.kind === "tree" ? checked.roots : [];
}

function countTypes(nodes: readonly TreeNode[], counts: Record<string, number> = {}): Record<string, number> {
  for (const { type, children } of nodes) {
    counts[type] = (counts[type] ?? 0) + 1;
    countTypes(children, counts);
  }
  return counts;
}

describe("the example memories can be inserted as they are", () => {
  test("the trip has seven days", async () => {
    const counts = countTypes(await rootsOf("acl-trip.json"));
    expect(counts).toEqual({ Itinerary: 1, Day: 7, POI: 36, Restaurant: 19 });
  });

  test("the to-do list has five categories", async () => {
    const counts = countTypes(await rootsOf("todo-list.json"));
    expect(counts).toEqual({ TodoList: 1, Category: 5, Project: 19, Task: 81 });
  });

  test("the meal plan has three options for each member and meal, and no dish twice", async () => {
    const roots = await rootsOf("meal-plan.json");
    expect(countTypes(roots)).toMatchObject({ Day: 7, Meal: 28, Member: 98, Option: 294 });
    const names: unknown[] = [];
    const visit = ({ type, attributes, children }: TreeNode): void => {
      if (type === "Option") names.push(attributes["name"]);
      children.forEach(visit);
    };
    roots.forEach(visit);
    expect(new Set(names).size).toBe(294);
  });

  test("the chat is a transcript, one message a line", async () => {
    const lines = (await read("support-chat.jsonl")).trim().split("\n");
    const messages = lines.map((line) => JSON.parse(line) as unknown);
    expect(check({ conversation: "support", messages }, "conversation")).toMatchObject({ kind: "messages" });
  });

  test("the allotment is XML whose text-only elements become attributes", async () => {
    const checked = check({ xml: await read("allotment.xml") }, "artifact");
    const roots = checked.kind === "tree" ? checked.roots : [];
    expect(countTypes(roots)).toEqual({ Allotment: 1, Bed: 3, Crop: 7 });
    expect(roots[0]?.children[0]?.children[0]?.attributes).toMatchObject({ name: "Tomatoes", sown: "2026-03-12" });
  });
});

test("the queries of the demo name example memories", async () => {
  const queries = JSON.parse(await read("demo-queries.json")) as { memory: string; title: string; query: string }[];
  expect(queries).toHaveLength(8);
  for (const { memory } of queries) await expect(read(`${memory}.json`)).resolves.toContain('"tree"');
});
