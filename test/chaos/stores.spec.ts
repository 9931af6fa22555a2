/** Rows of the failure table about Neo4j and Qdrant: servers that are away, and one that does not answer. */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect } from "@jest/globals";
import { QUEUE_SETTINGS } from "#jobs";
import type { Answer } from "../support/api-client.js";
import { until } from "../support/until.js";
import type { Faults } from "./faults.js";
import { chaosRow, LONG } from "./row.js";
import { storeServers } from "./store-servers.js";
import { startSystem, type System } from "./system.js";

const PATIENCE_MS = 180_000;

/** A store that comes back takes longer than shortened retries last; a claim that was lost is not waited for so long. */
const FAULTS: Partial<Faults> = {
  queues: { retryBaseMs: QUEUE_SETTINGS.insert.retryBaseMs },
  ...(!LONG && { limits: { rowLeaseMs: 20_000, rowRetryMaxMs: 4_000 } }),
};

const found = await storeServers();

(found === undefined ? describe.skip : describe)("stores", () => {
  const { neo4j, qdrant } = found!;
  let system: System;

  beforeAll(async () => {
    system = await startSystem({ NEO4J_URI: neo4j.url, QDRANT_URL: qdrant.url }, FAULTS);
    await system.replaceWorkers({});
  }, PATIENCE_MS);

  afterAll(async () => {
    await system.close();
    await neo4j.close();
    await qdrant.close();
  });

  const compare = () => system.ledger.compare(system.stores);

  /** Waits until trees and vectors were compared and nothing differs. */
  async function driftIsGone(): Promise<void> {
    const asked = Date.now();
    await system.client.call("POST", "/v1/admin/drift/repair");
    await until(async () => {
      const { body } = await system.client.call("GET", "/v1/admin/drift");
      const [started, finished] = [body["startedAt"], body.finishedAt].map((time) => Date.parse(time as string));
      return (started! >= asked && finished! >= started! && body["points"] === 0) || undefined;
    }, PATIENCE_MS);
  }

  /** What a read is answered while its store is away. */
  async function unavailable(read: () => Promise<Answer>): Promise<void> {
    const answer = await until(async () => {
      const tried = await read();
      return tried.status === 200 || tried.status === 429 ? undefined : tried;
    }, PATIENCE_MS);
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 503, code: "store_unavailable" });
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  }

  interface StoreFault {
    readonly name: string;
    readonly holds: string;
    readonly begin: () => Promise<void>;
    readonly end: () => Promise<void>;
    readonly read: (memory: string) => Promise<Answer>;
  }

  const readTree = (memory: string): Promise<Answer> => system.client.call("GET", `/v1/memories/${memory}/tree`);
  const search = (memory: string): Promise<Answer> =>
    system.client.query(memory, { query: '//Entry[node~="entry"]' }, { headers: { prefer: "wait=60" } });

  const faults: StoreFault[] = [
    {
      ...{
        name: "neo4j-away",
        holds: "Neo4j is away for a while: reads are refused, writes wait, nothing is half written",
      },
      ...{ begin: () => neo4j.away(), end: () => neo4j.back(), read: readTree },
    },
  ];
  if (LONG) {
    faults.push({
      ...{ name: "qdrant-away", holds: "Qdrant is away for a while: searches are refused, vectors are caught up on" },
      ...{ begin: () => qdrant.away(), end: () => qdrant.back(), read: search },
    });
  }
  if ("hang" in neo4j) {
    faults.push({
      ...{ name: "neo4j-hangs", holds: "Neo4j does not answer for a while: calls end by time, and what waits goes on" },
      ...{ begin: () => neo4j.hang(), end: () => neo4j.goOn(), read: readTree },
    });
  }

  for (const { name, holds, begin, end, read } of faults) {
    chaosRow({
      ...{ name, holds, rounds: 1, compare },
      round: async () => {
        const memory = await system.memory();
        expect(await system.ended(await system.write(memory, 1))).toBe("completed");
        // One client: while a read is on its way to its refusal, rows pile up that are all worked off afterwards.
        const load = await system.load(1);
        await system.writesGoOn(5);
        await begin();
        const back = pause(LONG ? 30_000 : 2_000);
        await unavailable(() => read(memory));
        await back;
        await end();
        const recoveredMs = await system.worksAgain();
        await load.stop();
        await system.settle();
        await driftIsGone();
        return recoveredMs;
      },
    });
  }
});
