import { expect, test } from "@jest/globals";
import type { ApiClient } from "./api-client.js";
import { findMemory, requireMemory } from "./find-memory.js";

const memory = (number: number) => ({
  id: `mem_${String(number).repeat(26)}`,
  name: "trip",
  createdAt: `2026-05-0${number}T10:00:00.000Z`,
  nodes: number,
});

/** A client of a server with these memories, which answers an id with it. */
const clientOf = (items: readonly object[], nextCursor?: string): ApiClient => {
  const call = async (path: string): Promise<unknown> =>
    path.includes("?") ? { items, ...(nextCursor !== undefined && { nextCursor }) } : { id: path.split("/").at(-1) };
  return { call } as unknown as ApiClient;
};

test("a memory is found by its name or its id", async () => {
  expect(await findMemory(clientOf([memory(1)]), "trip")).toMatchObject({ nodes: 1 });
  expect(await findMemory(clientOf([]), memory(2).id)).toEqual({ id: memory(2).id });
  expect(await findMemory(clientOf([]), "trip")).toBeUndefined();
  await expect(requireMemory(clientOf([]), "trip")).rejects.toThrow(/There is no memory trip: bin\/espalier memories/);
});

test("memories of one name are told apart by id, age and size", async () => {
  await expect(findMemory(clientOf([memory(1), memory(2)], "next"), "trip")).rejects.toThrow(
    [
      "Several memories have the name trip: give the id of one instead.",
      `  ${memory(1).id}  created 2026-05-01T10:00:00.000Z, 1 nodes`,
      `  ${memory(2).id}  created 2026-05-02T10:00:00.000Z, 2 nodes`,
      "  and more",
    ].join("\n"),
  );
});

test("what begins like an id and is none is refused, so that no memory gets such a name by mistake", async () => {
  await expect(findMemory(clientOf([]), "mem_123")).rejects.toThrow(
    /mem_123 begins like the id of a memory and is none/,
  );
});
