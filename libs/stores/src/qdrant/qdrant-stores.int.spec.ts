import { afterAll } from "@jest/globals";
import { describeWithQdrant } from "../../../../test/support/qdrant.js";
import type { OpenEmpty } from "../contract/fixtures.js";
import { describeLexicalIndex, describeVectorStore } from "../contract/search.contract.js";
import { type QdrantOverInMemory, qdrantOverInMemory } from "./testing/qdrant-over-in-memory.js";

await describeWithQdrant("Qdrant", ({ url }) => {
  const opened: QdrantOverInMemory[] = [];
  const open: OpenEmpty = async () => {
    const stores = qdrantOverInMemory({ url });
    opened.push(stores);
    return stores;
  };
  afterAll(async () => {
    for (const stores of opened) await stores.drop();
  });
  describeVectorStore("Qdrant beside in-memory trees", open);
  describeLexicalIndex("Qdrant beside in-memory trees", open);
});
