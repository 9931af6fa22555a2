import { appendFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import type { LedgerFigures } from "./ledger.js";

/** Whether the product's own times are used and outages last as long as the page says (`npm run chaos`). */
export const LONG = process.env["ESPALIER_CHAOS_LONG"] === "1";

const ROUNDS = process.env["ESPALIER_CHAOS_ROUNDS"];
const REPORT = process.env["ESPALIER_CHAOS_REPORT"];
const ROUND_MS = 600_000;

/** What one row of the failure table did. */
export interface RowFigures extends LedgerFigures {
  readonly row: string;
  readonly rounds: number;
  /** Milliseconds of each round from the end of the fault until what must work again did. */
  readonly recoveredMs: readonly number[];
}

export interface Row {
  /** By which `npm run chaos -- --row` chooses it. */
  readonly name: string;
  /** What must hold: a sentence. */
  readonly holds: string;
  /** Rounds of the short form; the long form has those that it is told. */
  readonly rounds: number;
  /** The longest recovery that is promised, checked with the product's own times only. */
  readonly promisedMs?: number;
  /** Brings the fault; answers the milliseconds of the recovery. Everything has ended when it resolves. */
  readonly round: (round: number) => Promise<number>;
  /** Compares what was acknowledged with the stores. */
  readonly compare: () => Promise<LedgerFigures>;
}

/** A row of the failure table as a test: its rounds, then nothing is lost, doubled or out of order. */
export function chaosRow({ name, holds, rounds, promisedMs, round, compare }: Row): void {
  const wanted = ROUNDS === undefined ? rounds : Number(ROUNDS);
  test(
    `${name}: ${holds}`,
    async () => {
      const recoveredMs: number[] = [];
      const { acknowledged: before } = await compare();
      for (let count = 1; count <= wanted; count += 1) {
        recoveredMs.push(await round(count));
        const found = await compare();
        tell({ row: name, rounds: count, ...found, acknowledged: found.acknowledged - before, recoveredMs });
        expect(found).toMatchObject({ lost: 0, doubled: 0, outOfOrder: 0 });
        expect(found.acknowledged).toBeGreaterThan(before);
      }
      if (LONG && promisedMs !== undefined) expect(Math.max(...recoveredMs)).toBeLessThanOrEqual(promisedMs);
    },
    wanted * ROUND_MS,
  );
}

function tell(figures: RowFigures): void {
  const { row, rounds, acknowledged, lost, doubled, outOfOrder, recoveredMs } = figures;
  const slowest = (Math.max(...recoveredMs) / 1_000).toFixed(1);
  process.stderr.write(
    `chaos ${row}: rounds ${rounds}, acknowledged ${acknowledged}, lost ${lost}, doubled ${doubled}, ` +
      `out of order ${outOfOrder}, recovered within ${slowest} s\n`,
  );
  if (REPORT !== undefined) appendFileSync(REPORT, `${JSON.stringify(figures)}\n`);
}
