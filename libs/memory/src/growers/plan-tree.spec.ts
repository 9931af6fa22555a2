import { expect, test } from "@jest/globals";
import { idFromUuid, LIMITS } from "#core";
import { checkTree } from "../model/check-tree.js";
import { aJob, aMemory } from "../testing/a-memory.js";
import { PlanningStore } from "../testing/planning-store.js";
import type { Plan } from "./plan.js";
import { planTree } from "./plan-tree.js";

async function insert(store: PlanningStore, tree: unknown, under: string | null, job: number): Promise<Plan> {
  const plan = await planTree(store, aMemory(), { roots: checkTree(tree), under }, aJob(job));
  store.add(plan);
  return plan;
}

test("trees are appended after the last child, below the root or below a node", async () => {
  const store = new PlanningStore();
  const day = (name: string): unknown => ({ type: "Day", attributes: { name }, children: [{ type: "POI" }] });
  const first = await insert(store, { type: "Trip", children: [day("1"), day("2")] }, null, 1);
  const second = await insert(store, [day("3"), day("4")], first.roots[0]!, 2);
  await insert(store, { type: "Trip" }, null, 3);
  expect(store.outline()).toEqual([
    "1 Trip",
    "2 Day 1",
    "3 POI",
    "2 Day 2",
    "3 POI",
    "2 Day 3",
    "3 POI",
    "2 Day 4",
    "3 POI",
    "1 Trip",
  ]);
  expect(second.roots).toEqual(
    store.states.filter(({ attributes }) => ["3", "4"].includes(String(attributes["name"]))).map(({ id }) => id),
  );
});

test("an unknown parent is node_not_found", async () => {
  const under = idFromUuid("nod", "00000000-0000-7000-8000-000000000009");
  await expect(insert(new PlanningStore(), { type: "A" }, under, 1)).rejects.toMatchObject({ code: "node_not_found" });
});

test("depth and children count what is there already", async () => {
  const store = new PlanningStore();
  const chain = (depth: number): unknown => (depth === 1 ? { type: "A" } : { type: "A", children: [chain(depth - 1)] });
  const { nodes } = await insert(store, chain(LIMITS.treeDepth), null, 1);
  const deepest = nodes.at(-1)!;
  await expect(insert(store, { type: "A" }, deepest.id, 2)).rejects.toMatchObject({ code: "tree_too_deep" });

  store.lastChild = async () => ({ count: LIMITS.nodeChildren - 1 });
  await insert(store, { type: "A" }, null, 3);
  await expect(insert(store, [{ type: "A" }, { type: "A" }], null, 4)).rejects.toMatchObject({
    code: "too_many_children",
  });
});
