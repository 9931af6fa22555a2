import type { NodeState } from "#core";
import type { Stores } from "#stores";
import type { ApiClient } from "../support/api-client.js";
import { until } from "../support/until.js";

/** Longest that an acknowledged job may take to its end after the faults are over. */
const SETTLE_MS = 240_000;

/** A write that the API acknowledged with a 2xx. */
interface Entry {
  readonly number: number;
  readonly job: string;
}

interface MemoryLedger {
  /** In the order of their acknowledgements; each was sent after the one before was acknowledged. */
  readonly acknowledged: Entry[];
  /** Sent, and no answer came: each may have happened once or not at all. */
  readonly unsure: Set<number>;
}

/** What a comparison found. All but the first are 0 where the guarantees hold. */
export interface LedgerFigures {
  readonly acknowledged: number;
  /** Acknowledged, ended as wanted or not, and not in the store. */
  readonly lost: number;
  /** Effects beyond one of a write, effects of writes that were refused, and revisions without an effect. */
  readonly doubled: number;
  /** Neighbours within a memory that were stored the other way round. */
  readonly outOfOrder: number;
}

/** What was acknowledged to the clients of a system, to be compared with what its stores hold. */
export class Ledger {
  readonly #memories = new Map<string, MemoryLedger>();
  /** Jobs that are to end without an effect, by the test's wish. */
  readonly #givenUp = new Set<string>();
  readonly #settled = new Set<string>();

  /** Compares a memory from now on, also if nothing is acknowledged to it: then it must stay empty. */
  watch(memory: string): void {
    this.#of(memory);
  }

  /** A memory is known from its first write on. */
  acknowledge(memory: string, entry: Entry): void {
    this.#of(memory).acknowledged.push(entry);
  }

  unsure(memory: string, number: number): void {
    this.#of(memory).unsure.add(number);
  }

  /** The job ended as `dead`, as the test wanted: it must have no effect. */
  giveUp(job: string): void {
    this.#givenUp.add(job);
  }

  /** Another job does the work of an acknowledged one. */
  replayed(memory: string, job: string, by: string): void {
    const { acknowledged } = this.#of(memory);
    const index = acknowledged.findIndex((entry) => entry.job === job);
    const { number } = acknowledged[index] ?? { number: Number.NaN };
    acknowledged.splice(index, 1, { number, job: by });
  }

  get acknowledged(): number {
    return [...this.#memories.values()].reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
  }

  /** Waits until every acknowledged job has ended. @throws Error naming one that did not end as `completed` */
  async settle(client: ApiClient): Promise<void> {
    for (const [memory, { acknowledged }] of this.#memories) {
      for (const { job, number } of acknowledged.filter((entry) => !this.#settled.has(entry.job))) {
        const wanted = this.#givenUp.has(job) ? "dead" : "completed";
        const state = await endOf(client, job, `write ${number} of ${memory}`);
        if (state !== wanted) throw new Error(`write ${number} of ${memory} (${job}) ended as ${state}, not ${wanted}`);
        this.#settled.add(job);
      }
    }
  }

  /** Compares with the trees and the vectors. To be called when all jobs have ended. */
  async compare(stores: Stores): Promise<LedgerFigures> {
    const sum = { acknowledged: this.acknowledged, lost: 0, doubled: 0, outOfOrder: 0 };
    for (const [memory, ledger] of this.#memories) {
      const found = await this.#compareMemory(stores, memory, ledger);
      sum.lost += found.lost;
      sum.doubled += found.doubled;
      sum.outOfOrder += found.outOfOrder;
    }
    return sum;
  }

  async #compareMemory(stores: Stores, memory: string, { acknowledged, unsure }: MemoryLedger) {
    const scope = { tenant: "default", memory };
    const nodes = await liveNodes(stores, memory);
    const stored = nodes.map(({ attributes }) => Number(attributes["number"]));
    const wanted = acknowledged.filter(({ job }) => !this.#givenUp.has(job)).map(({ number }) => number);
    const allowed = new Set([...wanted, ...unsure]);
    const once = new Set(stored.filter((number) => allowed.has(number)));
    const { revision, embeddingModel } = await stores.tree.getMemory(scope);
    // A node and its vector are one effect.
    const vectors = (await stores.vectors.fingerprint(scope, embeddingModel)).count;
    const born = new Map(nodes.map((node) => [Number(node.attributes["number"]), node.born]));
    return {
      lost: wanted.filter((number) => !once.has(number)).length + Math.max(0, nodes.length - vectors),
      doubled: stored.length - once.size + Math.abs(revision - nodes.length) + Math.max(0, vectors - nodes.length),
      outOfOrder:
        inversions(stored.filter((number) => wanted.includes(number))) +
        inversions(wanted.flatMap((number) => born.get(number) ?? [])),
    };
  }

  #of(memory: string): MemoryLedger {
    const known = this.#memories.get(memory) ?? { acknowledged: [], unsure: new Set() };
    this.#memories.set(memory, known);
    return known;
  }
}

/** The state in which a job ended. @throws Error that tells what became of one that did not end */
async function endOf(client: ApiClient, job: string, name: string): Promise<string> {
  let last: unknown;
  try {
    return await until(async () => {
      const { body, status } = await client.call("GET", `/v1/jobs/${job}`);
      last = { status, body };
      return status === 200 && !["queued", "active"].includes(body.state) ? body.state : undefined;
    }, SETTLE_MS);
  } catch (cause) {
    throw new Error(`${name} has not ended: ${JSON.stringify(last)}`, { cause });
  }
}

const inversions = (numbers: readonly number[]): number =>
  numbers.filter((number, index) => number < (numbers[index - 1] ?? -Infinity)).length;

/** All nodes of a memory in document order, which is the order in which its writes were stored. */
async function liveNodes(stores: Stores, memory: string): Promise<readonly NodeState[]> {
  const nodes: NodeState[] = [];
  for (let after: string | undefined; ; after = nodes.at(-1)?.pathKey) {
    const page = { limit: 1_000, ...(after !== undefined && { after }) };
    const read = await stores.tree.scan({ tenant: "default", memory }, page);
    nodes.push(...read);
    if (read.length < page.limit) return nodes;
  }
}
