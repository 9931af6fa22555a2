/**
 * Compares the points of a memory with its tree, which is the truth, and repairs what differs:
 * - missing: a point that the tree expects and the vector store lacks; an outbox row is made for it;
 * - foreign: a point of no state with a text in a tracked field; it is removed;
 * - stale: a point that says otherwise than the tree when its state ended; it is refreshed.
 * A point whose row was given up is missing too, but only told (`failed`): it is tried again by the operator's wish.
 *
 * Count and hash of both sides tell first whether anything can differ. If they differ, both sides are walked in pages; what
 * is held of a walk is bounded by splitting large memories by a hash of the points' names, one walk per part. Work goes on
 * meanwhile, so the order of the reads matters: points with an outbox row are not expected, a row goes only after its point
 * is stored, and the tree is read first; hence what it expects must be found. What came after the walk began is left out,
 * and a point that is not expected is foreign only if the tree does not know its state (else a row waits for it).
 */
import { LIMITS, fieldText, type MemoryScope } from "#core";
import { throwIfAborted } from "#scoring";
import type { Memory } from "../memory.js";
import type { ApartServices } from "../outbox/apart-services.js";
import type { StoredPoint } from "../ports/outbox.js";
import type { RunContext } from "../services.js";
import { finishMove, isMoveCutShort } from "./reembed.js";

/** Points that differ, and how many of them were repaired: there, removed, refreshed, or on their way. */
export interface ReconcileResult {
  readonly missing: number;
  readonly foreign: number;
  readonly stale: number;
  readonly repaired: number;
  /** Points that nobody works on any more: their rows were given up. */
  readonly failed: number;
}

const IN_STEP: ReconcileResult = { missing: 0, foreign: 0, stale: 0, repaired: 0, failed: 0 };

/** How far the points of a memory are from its tree. */
interface Drift {
  /** Points that a `reconcile` would repair. */
  readonly repairable: number;
  /** As of `ReconcileResult`. */
  readonly failed: number;
  /** Whether vectors of a model that the memory has left may be there still, which a `reconcile` removes. */
  readonly hasFormer: boolean;
}

/** Names a point within a memory and model. */
type PointName = Pick<StoredPoint, "id" | "born" | "field">;

/**
 * Finds what differs in a memory and repairs it, under every model that it is on; points of models that it has left are
 * foreign, and a move that was cut short is over then. Repeats safely. Reads O(points) once they differ, else two
 * fingerprints.
 * @throws EspalierError `memory_not_found`, `store_unavailable`, `cancelled`
 */
export async function reconcile(
  services: ApartServices,
  scope: MemoryScope,
  context: RunContext = {},
): Promise<ReconcileResult> {
  const memory = await services.tree.getMemory(scope);
  const foreign = (await hasFormer(services, memory)) ? await finishMove(services, scope) : 0;
  const result = await walkModels(services, memory, { context, repairs: repairsOf(services, scope) });
  return added({ ...IN_STEP, foreign, repaired: foreign }, result ?? IN_STEP);
}

/**
 * Counts what differs in a memory and leaves it as it is. Undefined: so many rows are under way that one cannot tell. Cost
 * and errors as of `reconcile`.
 */
export async function findDrift(
  services: ApartServices,
  scope: MemoryScope,
  context: RunContext = {},
): Promise<Drift | undefined> {
  const memory = await services.tree.getMemory(scope);
  const found = await walkModels(services, memory, { context });
  if (found === undefined) return undefined;
  const { missing, foreign, stale, failed } = found;
  return { repairable: missing + foreign + stale, failed, hasFormer: await hasFormer(services, memory) };
}

async function hasFormer({ apart }: ApartServices, memory: Memory): Promise<boolean> {
  if (isMoveCutShort(memory)) return true;
  return (await apart.outbox.former({ tenant: memory.tenant, memory: memory.id })).length > 0;
}

/** What is done with what differs. Each answers how many it repaired. */
interface Repairs {
  missing(model: string, points: readonly PointName[]): Promise<number>;
  foreign(model: string, points: readonly PointName[]): Promise<number>;
  stale(model: string, points: readonly PointName[]): Promise<number>;
}

interface Walk {
  readonly context: RunContext;
  /** Absent: differences are only counted, and busy memories are not compared. */
  readonly repairs?: Repairs;
}

function repairsOf({ apart }: ApartServices, scope: MemoryScope): Repairs {
  return {
    missing: (model, points) =>
      apart.outbox.enqueue(
        scope,
        points.map(({ id, born, field }) => ({ id, born, field, model, task: "vector" })),
      ),
    foreign: async (model, points) => {
      await apart.points.remove(scope, model, points);
      return points.length;
    },
    stale: async (model, points) => {
      await apart.points.refresh(scope, model, points);
      return points.length;
    },
  };
}

/** Undefined where a memory is too busy to be compared. */
async function walkModels(
  services: ApartServices,
  { tenant, id, embeddingModel, nextEmbeddingModel, revision }: Memory,
  walk: Walk,
): Promise<ReconcileResult | undefined> {
  const scope = { tenant, memory: id };
  let sum = IN_STEP;
  for (const model of new Set([embeddingModel, nextEmbeddingModel])) {
    if (model === undefined) continue;
    const found = await compareModel(services, scope, { ...walk, model, revision });
    if (found === undefined) return undefined;
    sum = added(sum, found);
  }
  return sum;
}

interface ModelWalk extends Walk {
  readonly model: string;
  /** The head when the walk began. */
  readonly revision: number;
}

async function compareModel(
  services: ApartServices,
  scope: MemoryScope,
  walk: ModelWalk,
): Promise<ReconcileResult | undefined> {
  const { model, repairs } = walk;
  const { fingerprint: expected, pending, failed } = await services.apart.outbox.expectation(scope, model);
  const stored = await services.vectors.fingerprint(scope, model);
  let sum: ReconcileResult = { ...IN_STEP, failed };
  if (stored.count === expected.count && stored.hash === expected.hash) return sum;
  if (repairs === undefined && pending - failed > LIMITS.reconcileBusyRows) return undefined;
  const parts = Math.max(1, Math.ceil(Math.max(stored.count, expected.count) / LIMITS.reconcilePoints));
  for (let part = 0; part < parts; part += 1) {
    const comparison = new Comparison(services, scope, walk, (name) => partOf(name, parts) === part);
    sum = added(sum, await comparison.run());
  }
  return sum;
}

/** One walk along both sides, over a part of the points. */
class Comparison {
  #result = IN_STEP;
  /** When the tree says that the states ended whose points were not met yet, by the points' names. */
  readonly #expected = new Map<string, number | undefined>();

  constructor(
    private readonly services: ApartServices,
    private readonly scope: MemoryScope,
    private readonly walk: ModelWalk,
    private readonly isOfPart: (name: string) => boolean,
  ) {}

  async run(): Promise<ReconcileResult> {
    const { outbox, points } = this.services.apart;
    const { model } = this.walk;
    await this.#pages(
      (page) => outbox.expected(this.scope, model, page),
      async (expected) => {
        for (const point of expected) {
          const name = nameOf(point);
          if (this.isOfPart(name)) this.#expected.set(name, point.died);
        }
      },
    );
    await this.#pages(
      (page) => points.points(this.scope, model, page),
      (stored) => this.#meet(stored),
    );
    const missing = Array.from(this.#expected.keys(), pointNamed).filter(({ born }) => born <= this.walk.revision);
    for (let from = 0; from < missing.length; from += LIMITS.cacheKeys) {
      await this.#found("missing", missing.slice(from, from + LIMITS.cacheKeys));
    }
    return this.#result;
  }

  /** A page of stored points, each held against what is expected of it. */
  async #meet(stored: readonly StoredPoint[]): Promise<void> {
    const unexpected: StoredPoint[] = [];
    const stale: StoredPoint[] = [];
    for (const point of await this.#comparable(stored)) {
      const name = nameOf(point);
      const isExpected = this.#expected.has(name);
      const died = this.#expected.get(name);
      this.#expected.delete(name);
      if (!isExpected) unexpected.push(point);
      else if (died !== point.died) stale.push(point);
    }
    await this.#found("stale", stale);
    await this.#found("foreign", await this.#foreign(unexpected));
  }

  /**
   * The points of this part, but for those that were made or ended since the walk began: the tree was asked before. A
   * revision that the memory has not reached even now is a wrong one.
   */
  async #comparable(stored: readonly StoredPoint[]): Promise<readonly StoredPoint[]> {
    const points = stored.filter((point) => this.isOfPart(nameOf(point)));
    const isNew = (point: StoredPoint): boolean => newest(point) > this.walk.revision;
    if (!points.some(isNew)) return points;
    const { revision } = await this.services.tree.getMemory(this.scope);
    return points.filter((point) => {
      const compared = !isNew(point) || newest(point) > revision;
      // It was met; that it is not compared does not make it missing.
      if (!compared) this.#expected.delete(nameOf(point));
      return compared;
    });
  }

  /** Those of the points that stand for nothing in the tree. */
  async #foreign(points: readonly StoredPoint[]): Promise<readonly StoredPoint[]> {
    if (points.length === 0) return [];
    const { tree, apart } = this.services;
    const tracked = new Set(await apart.outbox.tracked(this.scope, this.walk.model));
    const foreign: StoredPoint[] = [];
    for (const [born, group] of Map.groupBy(points, (point) => point.born)) {
      const ids = [...new Set(group.map(({ id }) => id))];
      const states = await tree.nodes(this.scope, born, ids);
      const known = new Map(states.filter((state) => state.born === born).map((state) => [state.id, state]));
      for (const point of group) {
        const state = known.get(point.id);
        const hasText = state !== undefined && (fieldText(state, point.field) ?? "") !== "";
        if (!hasText || !tracked.has(point.field)) foreign.push(point);
      }
    }
    return foreign;
  }

  async #found(what: keyof Repairs, points: readonly PointName[]): Promise<void> {
    if (points.length === 0) return;
    const repaired = (await this.walk.repairs?.[what](this.walk.model, points)) ?? 0;
    this.#result = added(this.#result, { ...IN_STEP, [what]: points.length, repaired });
  }

  async #pages(
    read: (page: {
      readonly after?: string;
      readonly limit: number;
    }) => Promise<{ readonly points: readonly StoredPoint[]; readonly next?: string }>,
    work: (points: readonly StoredPoint[]) => Promise<void>,
  ): Promise<void> {
    let after: string | undefined;
    do {
      throwIfAborted(this.walk.context.signal);
      const page = await read({ limit: LIMITS.cacheKeys, ...(after !== undefined && { after }) });
      await work(page.points);
      after = page.next;
    } while (after !== undefined);
  }
}

function added(one: ReconcileResult, other: ReconcileResult): ReconcileResult {
  return {
    missing: one.missing + other.missing,
    foreign: one.foreign + other.foreign,
    stale: one.stale + other.stale,
    repaired: one.repaired + other.repaired,
    failed: one.failed + other.failed,
  };
}

/** The last revision that a point tells of. */
const newest = ({ born, died = 0 }: StoredPoint): number => Math.max(born, died);

/** Ids have no line breaks, and neither do attribute names. */
const nameOf = ({ id, born, field }: PointName): string => `${id}\n${born}\n${field}`;

function pointNamed(name: string): PointName {
  const [id = "", born = "", field = ""] = name.split("\n");
  return { id, born: Number(born), field };
}

/** FNV-1a, which spreads names evenly enough to halve a memory by. */
function partOf(name: string, parts: number): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < name.length; index += 1) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash % parts;
}
