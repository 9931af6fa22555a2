/**
 * The relay brings outbox rows to the score workers. Any number of relays may run: a row has one claim at a time, so they
 * share the rows without knowing of each other. One turn:
 *
 * 1. How many claims may be made: as many wait for a worker as the workers have at once (`waiting` at least), so that a
 *    worker always finds the next one, and no more, so that the rows' order is decided late and a slow model holds few.
 * 2. Which tenants have rows. If they are few while claims wait already, they may gather.
 * 3. Claims are filled by deficit round robin over the tenants, up to a number of rows and tokens, so that one claim has
 *    rows of several tenants and memories when they share the backlog, and one tenant's flood does not delay the others.
 *
 * A relay that dies between claim and submit leaves rows whose lease ends; a claim that is lost on the way does too.
 */
import { LIMITS } from "#core";
import type { Outbox } from "../ports/outbox.js";
import { DeficitRing } from "./deficit-ring.js";

/** The way to the score workers. */
export interface ScorePort {
  /** Claims that wait for a worker and that workers have, of all relays. */
  load(): Promise<{ readonly waiting: number; readonly active: number }>;
  submit(claim: string): Promise<void>;
}

export interface RelayOptions {
  readonly outbox: Pick<Outbox, "backlog" | "claim" | "release">;
  readonly score: ScorePort;
  /** Fresh ids of claims, different in all relays. */
  readonly claimId: () => string;
  /** Claims that may always wait for a worker. */
  readonly waiting: number;
  /** Shares of those tenants whose share is not 1; over 0. Asked once a turn. */
  readonly weights: (tenants: readonly string[]) => Promise<ReadonlyMap<string, number>>;
}

/** What a turn brought on its way. */
export interface RelayTurn {
  readonly claims: number;
  readonly rows: number;
}

const NOTHING: RelayTurn = { claims: 0, rows: 0 };

/** The relay of one process. Its turns must not overlap. */
export class Relay {
  readonly #options: RelayOptions;
  readonly #ring: DeficitRing;
  #weights: ReadonlyMap<string, number> = new Map();

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#ring = new DeficitRing(LIMITS.relayQuantumTokens, (tenant) => this.#weights.get(tenant) ?? 1);
  }

  /**
   * @throws EspalierError `store_unavailable`, `queue_unavailable`; a claim that was made is free again then, now or when
   * its lease ends
   */
  async turn(): Promise<RelayTurn> {
    const { outbox, score, waiting } = this.#options;
    const load = await score.load();
    const room = Math.max(waiting, load.active) - load.waiting;
    if (room <= 0) return NOTHING;
    const backlog = await outbox.backlog(LIMITS.relayTenants, LIMITS.relayBatchFewRows);
    const few = backlog.reduce((sum, { rows }) => sum + rows, 0) < LIMITS.relayBatchFewRows;
    if (few && load.waiting > 0) return NOTHING;
    const tenants = backlog.map(({ tenant }) => tenant);
    this.#weights = await this.#options.weights(tenants);
    this.#ring.sync(tenants);
    let brought = NOTHING;
    while (brought.claims < room) {
      const rows = await this.#bring();
      if (rows === 0) break;
      brought = { claims: brought.claims + 1, rows: brought.rows + rows };
    }
    return brought;
  }

  /** Makes one claim and brings it on its way. Answers its rows; 0: there were none. */
  async #bring(): Promise<number> {
    const { outbox, score, claimId } = this.#options;
    const id = claimId();
    try {
      const rows = await this.#claim(id);
      if (rows > 0) await score.submit(id);
      return rows;
    } catch (error) {
      // What cannot be said to the store is said by the end of the lease.
      await outbox.release(id, 0).catch(() => undefined);
      throw error;
    }
  }

  async #claim(id: string): Promise<number> {
    let [rows, tokens] = [0, 0];
    while (rows < LIMITS.relayBatchRows && tokens < LIMITS.relayBatchTokens) {
      const turn = this.#ring.turn();
      if (turn === undefined) break;
      const most = {
        rows: LIMITS.relayBatchRows - rows,
        tokens: Math.min(turn.allowance, LIMITS.relayBatchTokens - tokens),
      };
      const claimed = await this.#options.outbox.claim(turn.name, { id, ...most, leaseMs: LIMITS.rowLeaseMs });
      // A row without a text costs a little too: a tenant with many of them must not have them all at once.
      const taken = claimed.reduce((sum, row) => sum + Math.max(1, row.tokens), 0);
      this.#ring.served({ tokens: taken, drained: claimed.length < most.rows && taken < most.tokens });
      rows += claimed.length;
      tokens += taken;
    }
    return rows;
  }
}
