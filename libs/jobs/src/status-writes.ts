import type { Redis } from "ioredis";
import { EspalierError } from "#core";
import { Gathered } from "./gathered.js";
import type { JobKeys } from "./keys.js";
import { constantOf } from "./record.js";
import { runScript } from "./scripts.js";
import type { JobSettings } from "./settings.js";
import type { JobKind, JobRecord, JobState } from "./types.js";

/** Jobs of one call at most, and characters of what their ends say: Redis answers nobody else meanwhile. */
const CALL = { most: 32, mostWeight: 1024 * 1024 } as const;

/** The status of a job that is to be there. */
export interface NewStatus {
  readonly record: Pick<JobRecord, "tenant" | "id" | "kind" | "createdAt" | "memory" | "replayOf">;
  /** A channel that is woken of it from its beginning. */
  readonly watch?: string | undefined;
  readonly idempotency?:
    | {
        readonly key: string;
        readonly fingerprint: string;
        /** Keys of the tenant. */ readonly most?: number | undefined;
      }
    | undefined;
}

/** What became of it; the wait is until the first of the tenant's idempotency keys expire, when it is `full` of them. */
export type NewStatusOutcome = readonly [
  outcome: "new" | "repeat" | "conflict" | "full",
  id: string | number,
  waitMs?: number,
];

/** The beginning of a run. */
export interface RunStart {
  readonly record: NewStatus["record"];
  readonly attempt: number;
  readonly startedAt: number;
}

/** Whether a run may go on. */
export type StartAnswer = "run" | "cancel" | "ended" | "held" | "fenced";

/** The end of a job. */
export interface JobEnd {
  readonly tenant: string;
  readonly id: string;
  readonly kind: JobKind;
  readonly state: Exclude<JobState, "queued" | "active">;
  readonly attempt: number;
  readonly keep: { readonly ms: number; readonly bytes: number };
  /** What the run stored, and the job whose effect that is. */
  readonly stored: { readonly effect: string; readonly nodes: number; readonly bytes: number };
  /** Names and values of the other fields of the status. */
  readonly fields: readonly (string | number)[];
}

/** What became of it: `ok`, or why not; and the tenant's webhooks that have something to deliver. */
export interface EndOutcome {
  readonly answer: string;
  readonly webhooks: readonly string[];
}

export interface StatusWritesOptions {
  readonly redis: Redis;
  readonly keys: JobKeys;
  readonly settings: JobSettings;
  /** Whether Redis is a cluster. */
  readonly cluster: boolean;
}

/**
 * The writes of statuses that every job has: its beginning, its start and its end. Those of a process go together: one script
 * writes many, and once what they have in common (a tenant's lists, counters and webhooks), which is most of what they cost. One that
 * comes alone does not wait; one call of each sort is under way at a time (`Gathered`). In a cluster, whose nodes know nothing of each other, each goes
 * by itself.
 */
export class StatusWrites {
  readonly #options: StatusWritesOptions;
  readonly #submits: Gathered<NewStatus, ReadonlyMap<NewStatus, NewStatusOutcome>>;
  readonly #starts: Gathered<RunStart, ReadonlyMap<RunStart, StartAnswer>>;
  readonly #ends: Gathered<JobEnd, ReadonlyMap<JobEnd, EndOutcome>>;

  constructor(options: StatusWritesOptions) {
    this.#options = options;
    const { callTimeoutMs } = options.settings;
    const bounds = { ...CALL, holdMs: callTimeoutMs };
    this.#submits = new Gathered((statuses) => this.send(statuses), { ...bounds, waitMs: callTimeoutMs });
    this.#starts = new Gathered((starts) => this.#startAll(starts), bounds);
    this.#ends = new Gathered(
      (ends) => this.#finishAll(ends),
      bounds,
      ({ fields }) => fields.reduce<number>((sum, field) => sum + (typeof field === "string" ? field.length : 0), 0),
    );
  }

  /** @throws EspalierError `queue_unavailable` without having sent it, if its turn comes later than a call may last */
  submit(status: NewStatus): Promise<NewStatusOutcome> {
    return this.#among(status, this.#submits, (statuses) => this.send(statuses));
  }

  /** Writes statuses now, ahead of whatever the connection is told next. */
  send(statuses: readonly NewStatus[]): Promise<ReadonlyMap<NewStatus, NewStatusOutcome>> {
    const { idempotencyMs, keepQueuedMs, jobsPerTenant } = this.#options.settings;
    return this.#write("jobsSubmit", [idempotencyMs, keepQueuedMs, jobsPerTenant], {
      items: statuses,
      tenantOf: ({ record }) => record.tenant,
      valuesOf: ({ record, watch = "", idempotency }) => [
        ...[record.id, constantOf(record), record.replayOf ?? "", watch],
        ...(idempotency === undefined
          ? [""]
          : [
              this.#options.keys.idempotency(record.tenant, idempotency.key),
              ...[idempotency.fingerprint, idempotency.most ?? ""],
            ]),
      ],
    });
  }

  start(start: RunStart): Promise<StartAnswer> {
    return this.#among(start, this.#starts, (starts) => this.#startAll(starts));
  }

  finish(end: JobEnd): Promise<EndOutcome> {
    return this.#among(end, this.#ends, (ends) => this.#finishAll(ends));
  }

  /**
   * What was answered to one of those that go together. Where Redis refused their call, as a full one does for the sake of those
   * that need room, it goes once more by itself, so that nobody's is refused for another's. It may: one that has happened finds
   * itself done.
   */
  async #among<T, Answer>(
    item: T,
    together: Gathered<T, ReadonlyMap<T, Answer>>,
    call: (items: readonly T[]) => Promise<ReadonlyMap<T, Answer>>,
  ): Promise<Answer> {
    if (this.#options.cluster) return answerOf(await call([item]), item);
    try {
      return answerOf(await together.add(item), item);
    } catch (error) {
      if (!(error instanceof Error && error.name === "ReplyError")) throw error;
      return answerOf(await call([item]), item);
    }
  }

  #startAll(starts: readonly RunStart[]): Promise<ReadonlyMap<RunStart, StartAnswer>> {
    const { eventsPerJob, keepQueuedMs } = this.#options.settings;
    return this.#write("jobsStart", [eventsPerJob, keepQueuedMs], {
      items: starts,
      tenantOf: ({ record }) => record.tenant,
      valuesOf: ({ record, attempt, startedAt }) => [
        ...[record.id, attempt, startedAt, constantOf(record), record.replayOf ?? ""],
      ],
    });
  }

  async #finishAll(ends: readonly JobEnd[]): Promise<ReadonlyMap<JobEnd, EndOutcome>> {
    const { eventsPerJob, wakeBytes } = this.#options.settings;
    const told = new Map<string, Set<string>>();
    const answers = await this.#write<JobEnd, string>("jobsFinish", [eventsPerJob, wakeBytes], {
      items: ends,
      tenantOf: ({ tenant }) => tenant,
      apartBy: ({ kind, state, keep }) => [kind, state, keep.ms, keep.bytes],
      valuesOf: ({ id, attempt, stored, fields }) => [
        ...[id, attempt, stored.effect, stored.nodes, stored.bytes, fields.length],
        ...fields,
      ],
      read: (reply) => {
        const [all, ...webhooks] = reply as [readonly string[], ...(string | number)[]];
        for (let at = 0; at < webhooks.length;) {
          const [own, count] = [String(webhooks[at]), Number(webhooks[at + 1])];
          at += 2 + count;
          const some = webhooks.slice(at - count, at).map(String);
          told.set(own, new Set([...(told.get(own) ?? []), ...some]));
        }
        return all;
      },
    });
    // Once for all ends of a tenant: they have the same webhooks.
    const take = (tenant: string): readonly string[] => {
      const own = this.#options.keys.own(tenant);
      const webhooks = [...(told.get(own) ?? [])];
      told.delete(own);
      return webhooks;
    };
    return new Map(
      Array.from(answers, ([end, answer]) => [end, { answer, webhooks: answer === "ok" ? take(end.tenant) : [] }]),
    );
  }

  /**
   * Runs a script over items. Its values are those of all, then for each tenant (and what keeps its items apart) the beginning of its
   * keys, that, how many items, and theirs.
   */
  async #write<T, Answer>(
    script: "jobsSubmit" | "jobsStart" | "jobsFinish",
    ofAll: readonly (string | number)[],
    { items, tenantOf, apartBy = () => [], valuesOf, read = (reply) => reply as readonly Answer[] }: Written<T, Answer>,
  ): Promise<ReadonlyMap<T, Answer>> {
    const { redis, keys } = this.#options;
    const headOf = (item: T): readonly (string | number)[] => [keys.own(tenantOf(item)), ...apartBy(item)];
    const parts = [...Map.groupBy(items, (item) => headOf(item).join(" ")).values()];
    const values = parts.flatMap((part) => [
      ...part.slice(0, 1).flatMap(headOf),
      ...[part.length, ...part.flatMap(valuesOf)],
    ]);
    const slot = items.slice(0, 1).map((item) => keys.own(tenantOf(item)));
    const answers = read(await runScript(redis, script, slot, [...ofAll, ...values]));
    return new Map(parts.flat().map((item, at) => [item, answers[at] as Answer]));
  }
}

/** What a call answered to one of its items. */
export function answerOf<T, Answer>(answers: ReadonlyMap<T, Answer>, item: T): Answer {
  const answer = answers.get(item);
  if (answer === undefined) throw new EspalierError("internal", "Redis answered less than it was asked.");
  return answer;
}

/** What a script is to write, and how it is told. */
interface Written<T, Answer> {
  readonly items: readonly T[];
  readonly tenantOf: (item: T) => string;
  /** What items of a tenant have in common, where the script wants that. */
  readonly apartBy?: (item: T) => readonly (string | number)[];
  readonly valuesOf: (item: T) => readonly (string | number)[];
  /** The answers, in the order of the items as they were told. */
  readonly read?: (reply: unknown) => readonly Answer[];
}
