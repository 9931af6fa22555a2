import type { Logger } from "pino";
import { LIMITS, type EspalierError, type MemoryScope } from "#core";
import type { JobClient, JobKind } from "#jobs";
import { followJobs, Relay } from "#memory";
import type { ApartRuntime } from "./apart-runtime.js";
import { startLoop, type Loop } from "./start-loop.js";
import { sweepMemories } from "./sweep-memories.js";

/** Times of the loops, in milliseconds. */
export interface LoopTimes {
  /** Look for rows of other processes, and of claims that were lost; one's own are told of at once. */
  readonly relayMs: number;
  /** Look for jobs whose last row was done by a process that died before it could say so. */
  readonly heldMs: number;
  /** Look at one such job about so often, whatever the number of processes: all its rows are counted, for its progress. */
  readonly heldRestMs: number;
  /** Ask whether the comparison of the stores has a turn to take. */
  readonly sweepTurnMs: number;
  /** Compare each memory about so often: it reads the names of all points on both sides. */
  readonly sweepEveryMs: number;
  /** Look for tenants whose deletion was cut short. */
  readonly deletionMs: number;
  /** Look once more after a memory that was deleted so long ago, then forget it. */
  readonly tombstoneMs: number;
}

export const LOOP_TIMES: LoopTimes = {
  relayMs: 1_000,
  heldMs: 1_000,
  heldRestMs: 3_000,
  sweepTurnMs: 5_000,
  sweepEveryMs: 1_800_000,
  deletionMs: LIMITS.tenantDeletionMs,
  tombstoneMs: LIMITS.tombstoneMs,
};

/** Claims that always wait for a score worker: it finds the next one at hand while new ones are made. */
const CLAIMS_WAITING = 3;

/** Held jobs of one look. */
const HELD_JOBS = 500;

export interface LoopsOptions {
  readonly roles: readonly JobKind[];
  readonly jobs: Pick<JobClient, "submit">;
  readonly logger: Logger;
  readonly times: LoopTimes;
}

/** A process of these roles makes rows, does them, or repairs: it also looks after the others' rows. A reader does not. */
const TENDING: readonly JobKind[] = ["insert", "score", "maintain"];

/** Starts what a process of some roles does beside its jobs to keep trees and vectors together. Answers how to stop it. */
export function startLoops(apart: ApartRuntime, options: LoopsOptions): () => Promise<void> {
  const { roles, jobs, logger, times } = options;
  const loops: Loop[] = [];
  const start = (what: string, everyMs: number, turn: () => Promise<boolean>): Loop => {
    const onError = (error: EspalierError): void => {
      logger.warn({ err: error }, `trouble with ${what}`);
    };
    const loop = startLoop({
      ...{ everyMs, onError, random: Math.random },
      turn: async () => ((await turn()) ? "more" : "done"),
    });
    loops.push(loop);
    return loop;
  };
  if (TENDING.some((role) => roles.includes(role))) {
    const relay = start("the relay", times.relayMs, relayTurn(apart));
    apart.rowsChanged = () => {
      relay.wake();
    };
    start("held jobs", times.heldMs, heldTurn(apart, times.heldRestMs));
  }
  if (roles.includes("maintain")) {
    const onError = (error: EspalierError, scope: MemoryScope): void => {
      logger.error({ err: error, ...scope }, "a memory cannot be compared");
    };
    const sweep = { jobs, everyMs: times.sweepEveryMs, tombstoneMs: times.tombstoneMs, onError };
    start("the comparison of the stores", times.sweepTurnMs, sweepMemories(apart, sweep));
  }
  return async () => {
    await Promise.all(loops.map((loop) => loop.stop()));
  };
}

function relayTurn({ services, background }: ApartRuntime): () => Promise<boolean> {
  const relay = new Relay({
    ...{ outbox: services.apart.outbox, score: background.batches },
    ...{ claimId: () => crypto.randomUUID(), waiting: CLAIMS_WAITING },
    weights: (tenants) => background.tenants.weights(tenants),
  });
  return async () => {
    await relay.turn();
    // What was left is for when a worker has taken a claim: the one of this process says so, others' are looked for.
    return false;
  };
}

function heldTurn({ services, background }: ApartRuntime, restMs: number): () => Promise<boolean> {
  return async () => {
    const held = await background.held.take(HELD_JOBS, restMs);
    return (await followJobs(services.apart.outbox, background.held, held)) === HELD_JOBS;
  };
}
