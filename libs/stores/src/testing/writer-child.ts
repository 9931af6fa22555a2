/**
 * A process that opens the stores of a folder (first argument) and writes. `open`: adds a key and ends. `commit`: commits
 * change sets of so many nodes (third argument), one after the other, and tells its parent each revision that was acknowledged.
 */
import { randomId } from "#core";
import { change, embedding, MODEL, newMemory, SCOPE, state, TENANT } from "../contract/fixtures.js";
import { openStores } from "../sqlite/open-stores.js";

const [folder = "", task, size = "0"] = process.argv.slice(2);
const stores = openStores({ folder });

async function commitOn(): Promise<never> {
  const known = await stores.tree.listMemories(TENANT, { limit: 1 });
  if (known.length === 0) await stores.tree.createMemory(TENANT, newMemory(SCOPE.memory));
  for (;;) {
    const { revision } = await stores.tree.getMemory(SCOPE);
    const root = `b${String(revision).padStart(6, "0")}`;
    const states = [state(root, "Day")];
    while (states.length < Number(size))
      states.push(state(`${root}.c${String(states.length).padStart(6, "0")}`, "POI"));
    const committed = await stores.tree.commit(
      SCOPE,
      change(revision, {
        states,
        inbox: { job: randomId("job"), step: "insert" },
        vectors: states.map(({ id }, index) => ({ id, field: "", model: MODEL, embedding: embedding(1, index) })),
        terms: states.map(({ id, pathKey }) => ({
          id,
          field: "",
          weights: new Map([
            ["text", 1],
            [pathKey, 0.5],
          ]),
        })),
      }),
    );
    process.send?.(committed.revision);
  }
}

if (task === "commit") await commitOn();
await stores.keys.add(
  { id: randomId("key"), tenant: TENANT, name: "of a child", scopes: ["read"], createdAt: 1 },
  randomId("key"),
);
await stores.close();
process.disconnect();
