import { LIMITS, type MemoryScope } from "#core";
import type { PointLedger, Standing } from "../distributed/point-ledger.js";

/** States that have ended of which a search has to know: one more than it can name. */
export const KNOWN_ENDS = LIMITS.storePoints + 1;

/** What is searched. Without a model it is the memory's own. */
interface StandingRead {
  readonly model?: string | undefined;
  readonly field: string;
  readonly view?: object | undefined;
}

/** Ends that are kept for a view: of more, each search reads for itself. */
const KEPT_ENDS = 100;

/**
 * How the points of a field stand to their states, read once for all searches of a view (ADR 0162). Where nothing waits that
 * stays true of the revision that it reads: its states ended before, and a point that says so goes on saying it.
 * Where texts wait it can change with every vector that is stored, and each search reads for itself.
 */
export class Standings {
  readonly #known = new WeakMap<object, Map<string, Promise<Standing>>>();

  constructor(private readonly ledger: PointLedger) {}

  /** To be called before the search. One statement, or none. Errors of the ledger. */
  async of(scope: MemoryScope, { view, model, field }: StandingRead): Promise<Standing> {
    const read = { model, field };
    if (view === undefined) return this.ledger.standing(scope, read, KNOWN_ENDS);
    const known = this.#known.get(view) ?? new Map<string, Promise<Standing>>();
    this.#known.set(view, known);
    // What is read of the memory's own model mostly is of the one that is named.
    const own = await known.get(nameOf({ field }))?.catch(() => undefined);
    if (own !== undefined && (model === undefined || model === own.model)) return own;
    const name = nameOf(read);
    const found = known.get(name);
    if (found !== undefined) return found;
    const reading = this.ledger.standing(scope, read, KNOWN_ENDS);
    known.set(name, reading);
    const forget = (): void => void known.delete(name);
    reading.then(({ waits, ended }) => {
      if (waits || ended.length > KEPT_ENDS) forget();
    }, forget);
    return reading;
  }

  /** Has it read while who reads does something else. Its errors are told by the search. */
  ahead(scope: MemoryScope, read: StandingRead): void {
    if (read.view !== undefined) this.of(scope, read).catch(() => undefined);
  }
}

const nameOf = ({ model = "", field }: StandingRead): string => `${model}\n${field}`;
