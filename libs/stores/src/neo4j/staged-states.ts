/** What a large change set that was never finished left behind is taken back: before another is committed, or by maintenance. */
import { setTimeout as delay } from "node:timers/promises";
import { EspalierError } from "#core";
import { STAGED } from "./commit-statements.js";
import type { Database } from "./database.js";
import { NEVER } from "./node-rows.js";
import { WRITE_MS } from "./settings.js";
import { LOCK_TENANT, lockOf } from "./tenant-lock.js";

/** A writer that wrote nothing for so long, by the server's clock, is taken for dead: a batch takes a second at most. */
const ALIVE_MS = 10_000;
/** Longest wait for a writer that is alive: longer than the largest change set takes. */
const WAIT_MS = 60_000;
const LOOK_MS = 100;
/** Outbox rows that one transaction removes. */
const ROWS = 5_000;

/** Waits while another writer stages; answers false when it is to be looked at again, true when it is dead. */
export class StagedWait {
  #waitedMs = 0;

  async isDead(stagedMs: number): Promise<boolean> {
    if (stagedMs > ALIVE_MS) return true;
    if (this.#waitedMs > WAIT_MS) {
      throw new EspalierError("store_unavailable", "Another large change of the memory takes too long; retry later.");
    }
    this.#waitedMs += LOOK_MS;
    await delay(LOOK_MS);
    return false;
  }
}

/** Stops the writers of change sets that are not committed and removes what they wrote, in bounded transactions. */
export async function sweepStaged(database: Database, tenant: string, memory: string): Promise<void> {
  await database.write((transaction) => transaction.run(STAGED.stop, { memory }));
  for (;;) {
    const [left] = await database.read((transaction) =>
      transaction.run<{ readonly revision: number; readonly batch: number }>(STAGED.left, { memory }),
    );
    if (left === undefined) return;
    const named = { memory, ...left };
    let isDone = false;
    while (!isDone) isDone = await removeRows(database, tenant, named);
    await database.write(async (transaction) => {
      await transaction.run(STAGED.reviveStates, { ...named, never: NEVER });
      await transaction.run(STAGED.removeStates, named);
      await transaction.run(STAGED.remove, named);
    });
  }
}

/** As `sweepStaged`, where the last sign of life is older than any transaction can be. One read where there is nothing. */
export async function sweepAbandoned(
  database: Database,
  tenant: string,
  memory: string,
  idleMs = WRITE_MS,
): Promise<void> {
  const [found] = await database.read((transaction) =>
    transaction.run<{ readonly stagedMs: number | null }>(STAGED.age, { memory }),
  );
  if (found?.stagedMs != null && found.stagedMs >= idleMs) await sweepStaged(database, tenant, memory);
}

async function removeRows(
  database: Database,
  tenant: string,
  named: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  return database.write(async (transaction) => {
    await transaction.run(LOCK_TENANT, { lock: lockOf(tenant) });
    const [row] = await transaction.run<{ readonly removed: number }>(STAGED.removeRows, { ...named, limit: ROWS });
    return (row?.removed ?? 0) < ROWS;
  });
}
