import { expect, test } from "@jest/globals";
import { EspalierError, LIMITS, type MemoryScope } from "#core";
import type { JobClient, Sweeps } from "#jobs";
import type { ApartServices } from "#memory";
import { sweepMemories } from "./sweep-memories.js";

const scopes: readonly MemoryScope[] = ["mem_1", "mem_2", "mem_3"].map((memory) => ({ tenant: "ten_a", memory }));

/** What the trees expect of a memory beside its 10 points, which are stored. */
interface Expected {
  readonly points?: number;
  readonly pending?: number;
  readonly failed?: number;
  readonly former?: readonly string[];
  readonly error?: EspalierError;
}

function open(expected: Readonly<Record<string, Expected>>) {
  const told: unknown[] = [];
  const submitted: string[] = [];
  const errors: string[] = [];
  const known = ({ memory }: MemoryScope): Expected => expected[memory] ?? {};
  const outbox: Partial<ApartServices["apart"]["outbox"]> = {
    tombstones: async () => [],
    former: async ({ memory }) => known({ tenant: "", memory }).former ?? [],
    memories: async () => ({ memories: scopes.map((scope) => ({ scope, models: ["m"] })) }),
    expectation: async (scope) => {
      const { points = 10, pending = 0, failed = 0, error } = known(scope);
      if (error !== undefined) throw error;
      return { fingerprint: { count: points, hash: String(points) }, pending, failed };
    },
    expected: async () => ({ points: [{ id: "nod_lost", born: 1, field: "" }] }),
  };
  const services = {
    tree: {
      getMemory: async ({ tenant, memory }: MemoryScope) => ({ tenant, id: memory, embeddingModel: "m", revision: 1 }),
    },
    vectors: { fingerprint: async () => ({ count: 10, hash: "10" }) },
    apart: { outbox, points: { points: async () => ({ points: [] }) } },
  } as unknown as ApartServices;
  const sweeps: Pick<Sweeps, "turn" | "note" | "keep"> = {
    turn: async (_, page) => (await page(undefined)) === undefined,
    note: async ({ memory }, points) => void told.push([memory, points]),
    keep: async ({ memory }) => void told.push([memory, "kept"]),
  };
  const turn = sweepMemories(
    { services, background: { sweeps } },
    {
      jobs: {
        submit: async (request: Parameters<JobClient["submit"]>[0]) => void submitted.push(request.memory) as never,
      },
      everyMs: 1,
      tombstoneMs: 1,
      onError: ({ code }, { memory }) => void errors.push(`${memory} ${code}`),
    },
  );
  return { turn, told, submitted, errors };
}

test("what is left of a former model is removed", async () => {
  const { turn, told, submitted } = open({ mem_2: { former: ["m0"] } });
  await turn();
  expect([told[1], submitted]).toEqual([["mem_2", 0], ["mem_2"]]);
});

test("what differs is noted and repaired; what was given up is noted alone", async () => {
  const { turn, told, submitted } = open({ mem_2: { points: 11 }, mem_3: { pending: 4, failed: 4 } });
  expect(await turn()).toBe(true);
  expect(told).toEqual([
    ["mem_1", 0],
    ["mem_2", 1],
    ["mem_3", 4],
  ]);
  expect(submitted).toEqual(["mem_2"]);
});

test("the note of a memory that is too busy to be compared stays", async () => {
  const { turn, told, submitted } = open({ mem_2: { points: 11, pending: LIMITS.reconcileBusyRows + 1 } });
  await turn();
  expect(told).toEqual([
    ["mem_1", 0],
    ["mem_2", "kept"],
    ["mem_3", 0],
  ]);
  expect(submitted).toEqual([]);
});

test("a store that is away has the page repeated; a memory that fails again and again is passed over", async () => {
  const error = new EspalierError("store_unavailable", "down");
  const { turn, told, errors } = open({ mem_2: { error } });
  for (let repeat = 1; repeat < 5; repeat += 1) await expect(turn()).rejects.toBe(error);
  expect(errors).toEqual([]);
  told.length = 0;
  await turn();
  expect(told).toEqual([
    ["mem_1", 0],
    ["mem_2", "kept"],
    ["mem_3", 0],
  ]);
  expect(errors).toEqual(["mem_2 store_unavailable"]);
  await expect(turn()).rejects.toBe(error);
});

test("a memory that cannot be compared for a reason of its own does not hold the others up", async () => {
  const errors = { mem_1: new EspalierError("memory_not_found", "gone"), mem_2: new EspalierError("internal", "odd") };
  const sweep = open({ mem_1: { error: errors.mem_1 }, mem_2: { error: errors.mem_2 } });
  await sweep.turn();
  expect(sweep.told).toEqual([
    ["mem_2", "kept"],
    ["mem_3", 0],
  ]);
  expect(sweep.errors).toEqual(["mem_2 internal"]);
});
