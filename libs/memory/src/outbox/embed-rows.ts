/**
 * The work on one claim of outbox rows: texts become points, states that ended become so in their points.
 *
 * Every row ends in one of these ways, on its own:
 * - done: its point is stored, which removes the row;
 * - failed: its text cannot be embedded (or its point not be stored); it is tried again later, and given up in the end;
 * - released: nothing is wrong with it, but the model or a store has no time or is away (back-pressure). No failure counts.
 *
 * A claim that was taken over from a worker that died is worked on row by row, and each row counts as failed before it is
 * tried: the one that kills its worker is given up in the end, and takes none of the others with it.
 */
import pLimit from "p-limit";
import { EspalierError, LIMITS, toEspalierError, type ErrorCode } from "#core";
import { throwIfAborted, type Embedding } from "#scoring";
import type { OutboxRow } from "../ports/outbox.js";
import type { ApartServices } from "./apart-services.js";
import type { WaitingJob } from "./complete-jobs.js";

/** Memories whose points are stored at once: each is a call or two of the stores. */
const MEMORIES_AT_ONCE = 8;

/** What is no fault of a row: it is the model or a store that has to recover. */
const PRESSURE: ReadonlySet<ErrorCode> = new Set([
  "model_unavailable",
  "model_overloaded",
  "model_timeout",
  "store_unavailable",
  "cancelled",
]);

/** What took rows with it: their memory was deleted meanwhile, or left the model. */
const TOOK_ITS_ROWS: ReadonlySet<ErrorCode> = new Set(["memory_not_found", "revision_conflict"]);

export interface EmbedRowsContext {
  readonly signal?: AbortSignal | undefined;
  /** How often the claim was taken over from a worker that died in it. */
  readonly takenOver: number;
}

export interface EmbedRowsResult {
  readonly done: number;
  readonly failed: number;
  readonly released: number;
  /** Jobs that may have nothing left to wait for. */
  readonly jobs: readonly WaitingJob[];
  /** Why rows were released: whoever works on claims should pause. */
  readonly pressure?: EspalierError;
}

/** How a row ended: with an error, or done. */
type Outcomes = ReadonlyMap<OutboxRow, EspalierError | undefined>;

/**
 * Works on what is left of a claim; a claim whose rows went to another one is nothing to do. Rows that had no end when this
 * throws are free again when their lease ends.
 * @throws EspalierError `store_unavailable` of the tree store, `cancelled` (the rows are released then)
 */
export async function embedRows(
  services: ApartServices,
  claim: string,
  context: EmbedRowsContext,
): Promise<EmbedRowsResult> {
  const rows = await services.apart.outbox.claimed(claim, LIMITS.rowLeaseMs);
  const parts = context.takenOver > 0 ? rows.map((row) => [row]) : [rows];
  const outcomes = new Map<OutboxRow, EspalierError | undefined>();
  try {
    for (const part of parts) {
      throwIfAborted(context.signal);
      if (context.takenOver > 0) await suspect(services, claim, part);
      for (const [row, outcome] of await workOn(services, part, context.signal)) outcomes.set(row, outcome);
    }
    throwIfAborted(context.signal);
  } catch (error) {
    await services.apart.outbox.release(claim, 0);
    throw error;
  }
  return settle(services, claim, outcomes);
}

/** Counts a failure ahead of the try, from which it may not come back. */
async function suspect({ apart }: ApartServices, claim: string, rows: readonly OutboxRow[]): Promise<void> {
  for (const row of rows) {
    await apart.outbox.fail(claim, [row], {
      code: "internal",
      message: "A worker died or hung while it worked on this text and others.",
      afterMs: LIMITS.rowLeaseMs,
      final: row.failures + 1 >= LIMITS.rowFailures,
    });
  }
}

async function workOn(
  services: ApartServices,
  rows: readonly OutboxRow[],
  signal: AbortSignal | undefined,
): Promise<Outcomes> {
  const outcomes = new Map<OutboxRow, EspalierError | undefined>();
  const [vector, payload] = [
    rows.filter(({ task }) => task === "vector"),
    rows.filter(({ task }) => task === "payload"),
  ];
  const embeddings = await embedAll(services, vector, signal);
  const limit = pLimit(MEMORIES_AT_ONCE);
  type Store = (part: readonly [OutboxRow, ...OutboxRow[]]) => Promise<void>;
  const attempt = (part: readonly [OutboxRow, ...OutboxRow[]], store: Store): Promise<void> =>
    limit(async () => {
      const error = await store(part).then(() => undefined, toEspalierError);
      for (const row of part) {
        // One point among others can be to blame for a refusal.
        const isShared = error?.code === "store_refused" && part.length > 1;
        outcomes.set(row, isShared ? await store([row]).then(() => undefined, toEspalierError) : error);
      }
    });
  const embedded = vector.filter((row) => {
    const outcome = embeddings.get(row);
    if (outcome instanceof EspalierError) outcomes.set(row, outcome);
    return !(outcome instanceof EspalierError);
  });
  await Promise.all([
    ...grouped(payload, ({ scope, model }) => `${scope.memory}\n${model}`).map((part) =>
      attempt(part, (some) => services.apart.points.refresh(some[0].scope, some[0].model, some)),
    ),
    ...grouped(embedded, ({ scope, model }) => `${scope.memory}\n${model}`).map((part) =>
      attempt(part, (some) =>
        services.vectors.upsert(
          some[0].scope,
          some.flatMap((row) => pointOf(row, embeddings.get(row))),
        ),
      ),
    ),
  ]);
  return outcomes;
}

function pointOf({ id, born, field, model }: OutboxRow, embedding: Embedding | EspalierError | undefined) {
  return embedding === undefined || embedding instanceof EspalierError ? [] : [{ id, born, field, model, embedding }];
}

/** The vectors of rows, or why there is none. A cache belongs to a tenant, a front to a model. */
async function embedAll(
  services: ApartServices,
  rows: readonly OutboxRow[],
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<OutboxRow, Embedding | EspalierError>> {
  const parts = grouped(rows, ({ scope, model }) => `${scope.tenant}\n${model}`);
  const embedded = await Promise.all(
    parts.map(async (part): Promise<(readonly [OutboxRow, Embedding | EspalierError])[]> => {
      const [{ scope, model }] = part;
      try {
        const embedder = await services.embeddingModels.get(model);
        const { outcomes } = await embedder.embedEach(
          part.map(({ text }) => text),
          // A row that comes again is there to be tried again.
          { signal, cache: services.caches.embeddings(scope.tenant), again: true },
        );
        return part.map((row, index) => [row, outcomes[index] ?? missingAnswer()]);
      } catch (error) {
        return part.map((row) => [row, toEspalierError(error)]);
      }
    }),
  );
  return new Map(embedded.flat());
}

function missingAnswer(): EspalierError {
  return new EspalierError("internal", "The embedder left a text out.");
}

/** Tells the outbox how the rows ended that are not done. */
async function settle({ apart }: ApartServices, claim: string, outcomes: Outcomes): Promise<EmbedRowsResult> {
  const done: OutboxRow[] = [];
  const failed: { readonly row: OutboxRow; readonly error: EspalierError }[] = [];
  const released: EspalierError[] = [];
  for (const [row, error] of outcomes) {
    if (error === undefined || TOOK_ITS_ROWS.has(error.code)) done.push(row);
    else if (PRESSURE.has(error.code)) released.push(error);
    else failed.push({ row, error });
  }
  for (const part of grouped(failed, ({ row, error }) => `${row.failures}\n${error.code}\n${error.message}`)) {
    const [{ row, error }] = part;
    await apart.outbox.fail(
      claim,
      part.map((one) => one.row),
      {
        ...{ code: error.code, message: error.message, final: row.failures + 1 >= LIMITS.rowFailures },
        afterMs: Math.min(LIMITS.rowRetryMaxMs, LIMITS.rowRetryMs * 2 ** row.failures),
      },
    );
  }
  const [pressure] = released;
  if (pressure !== undefined) await apart.outbox.release(claim, LIMITS.rowPressureMs);
  const ended = [...done, ...failed.map(({ row }) => row)];
  return {
    ...{ done: done.length, failed: failed.length, released: released.length, jobs: jobsOf(ended) },
    ...(pressure !== undefined && { pressure }),
  };
}

function jobsOf(rows: readonly OutboxRow[]): readonly WaitingJob[] {
  const jobs = new Map<string, WaitingJob>();
  for (const { scope, job } of rows) if (job !== undefined) jobs.set(job, { tenant: scope.tenant, job });
  return [...jobs.values()];
}

/** Groups of at least one, in the order of their first. */
function grouped<T>(items: readonly T[], keyOf: (item: T) => string): readonly (readonly [T, ...T[]])[] {
  return [...Map.groupBy(items, keyOf).values()].map((group) => group as [T, ...T[]]);
}
