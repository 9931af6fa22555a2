import { EspalierError, LIMITS, RETENTION_SECONDS, type TenantLimits } from "#core";
import type { Announced, QueueLimits, SubmitTerms } from "../admission/admission.js";
import { estimateCost } from "../admission/estimate-cost.js";
import type { JobData } from "../job-data.js";
import { jobNameOf } from "../job-names.js";
import { blobKey, queueJobId } from "../keys.js";
import { payloadVersion } from "../payload-upgrades.js";
import { runScript } from "../scripts.js";
import type { NewStatus, NewStatusOutcome } from "../status-writes.js";
import { tooManyKeys } from "../requests/too-many-keys.js";
import { SerializedPayload } from "../serialized-payload.js";
import type { JobRecord, SubmitRequest } from "../types.js";
import type { ClientParts } from "./client-parts.js";

/** What a tenant may have at most. Absent members: what the settings of the lanes say, and as many keys as come. */
export type SubmitLimits = QueueLimits & Pick<TenantLimits, "idempotencyKeys">;

/** A submit, or the replay of a job. */
export interface Enqueued extends SubmitRequest {
  readonly id: string;
  /** The job whose work it does again. */
  readonly origin?: string;
  /** Of the payload; absent: this release's. */
  readonly version?: number;
  /** Whether this process is woken of the job from its beginning. */
  readonly watched?: true;
}

/** A submitted job and how it got there. */
export interface Submitted {
  readonly record: JobRecord;
  /** False for a repeat under the same idempotency key. */
  readonly fresh: boolean;
}

/** A job that is about to have its status and its place. */
interface Entry {
  readonly request: Enqueued;
  readonly record: JobRecord;
  readonly data: JobData;
  readonly terms: Omit<SubmitTerms, "announced" | "limits"> & { readonly limits: SubmitLimits | undefined };
}

export interface SubmitParts extends ClientParts {
  /** Whether Redis is a cluster: its nodes keep no order between them. */
  readonly cluster: boolean;
  /** See `JobClientOptions.limits`. */
  readonly limits: ((tenant: string) => Promise<SubmitLimits>) | undefined;
}

/** How jobs come: a status, then a place in their lane. */
export class JobSubmits {
  readonly #parts: SubmitParts;

  constructor(parts: SubmitParts) {
    this.#parts = parts;
  }

  /** Adds the job and its status; a repeat under the same key answers the first job. */
  async enqueue(request: Enqueued): Promise<Submitted> {
    await this.#check(request);
    const entry = await this.#entryOf(request);
    const { record, data } = entry;
    return this.#parts.call(async () => {
      if (request.idempotency === undefined) {
        await (this.#parts.cluster ? this.#beginApart(entry) : this.#begin(entry));
        return { record, fresh: true };
      }
      const [outcome, known, wait] = await this.#tell(entry);
      if (outcome === "new") {
        await this.#admitOrForget(entry);
        return { record, fresh: true };
      }
      const { tenant, id } = record;
      if (outcome === "full") {
        await this.#parts.payloadStore.delete(tenant, blobKey(id, "payload"));
        throw tooManyKeys({ value: entry.terms.limits?.idempotencyKeys, current: Number(known) }, Number(wait));
      }
      if (data.payload === undefined) await this.#parts.payloadStore.delete(tenant, blobKey(id, "payload"));
      if (outcome === "conflict") {
        throw new EspalierError("idempotency_conflict", "The Idempotency-Key was used with another request.");
      }
      return { record: await this.#repeat(String(known), entry), fresh: false };
    });
  }

  /** Takes a job out of its lane or its queue that nobody runs yet. */
  async leaveQueue({ kind, tenant, id }: Pick<JobRecord, "kind" | "tenant" | "id">): Promise<void> {
    const { admission } = this.#parts;
    const token = queueJobId(tenant, id);
    if (await admission.cancel(kind, token)) return;
    await admission.queue(kind).remove(token);
    await admission.finish(kind, token);
  }

  /** A repeat under a key is not refused what the first request was given: it goes on if the key is known. */
  async #check({ tenant, idempotency, check }: SubmitRequest): Promise<void> {
    const { redis, keys, call } = this.#parts;
    try {
      await check?.();
    } catch (error) {
      const key = idempotency && keys.idempotency(tenant, idempotency.key);
      if (key === undefined || (await call(() => redis.exists(key))) === 0) throw error;
    }
  }

  async #entryOf(request: Enqueued): Promise<Entry> {
    const { settings, clock, limits } = this.#parts;
    const { id, tenant, memory, kind, origin, payload } = request;
    const record: JobRecord = {
      ...{ id, tenant, memory, kind, state: "queued" },
      ...{ progress: { done: 0, total: 0 }, createdAt: clock.now(), attempts: 0 },
      ...(origin !== undefined && { replayOf: origin }),
    };
    const text = payload instanceof SerializedPayload ? payload.bytes : JSON.stringify(payload);
    const terms = { cost: estimateCost(kind, text.length), limits: await limits?.(tenant) };
    const large = await this.#keepLarge(request, text);
    const { version = payloadVersion(settings.upgrades, jobNameOf(kind, payload)) } = request;
    return { request, record, data: dataOf(record, version, large ? undefined : payload), terms };
  }

  /** Status and place of a job, in one write of one connection, which keeps their order. */
  async #begin(entry: Entry): Promise<void> {
    const told = Promise.withResolvers<unknown>();
    const placed = this.#admitOrForget(entry, { status: this.#statusOf(entry), written: told.resolve });
    // One that never went to its lane has no status either.
    placed.catch(told.reject);
    const [status, place] = await Promise.allSettled([told.promise, placed]);
    // A full Redis can refuse the one and take the other: the caller is told that there is no job.
    if (status.status === "rejected" && place.status === "fulfilled") await this.leaveQueue(entry.record).catch(ignore);
    for (const step of [status, place]) if (step.status === "rejected") throw step.reason;
  }

  /** The same where status and place are on different nodes. */
  async #beginApart(entry: Entry): Promise<void> {
    await this.#tell(entry);
    await this.#admitOrForget(entry);
  }

  #admit({ record, data, terms }: Entry, announced?: Announced): Promise<void> {
    return this.#parts.admission.submit(record.kind, data, { ...terms, announced });
  }

  /** Takes back the status of a job that was refused a place: the caller is told that there is none. */
  async #admitOrForget(entry: Entry, announced?: Announced): Promise<void> {
    const { redis, keys, payloadStore } = this.#parts;
    const { tenant, id } = entry.record;
    const { idempotency } = entry.request;
    const key = idempotency === undefined ? "" : keys.idempotency(tenant, idempotency.key);
    try {
      await this.#admit(entry, announced);
    } catch (error) {
      await runScript(redis, "jobForget", [keys.job(tenant, id)], [key]).catch(ignore);
      await payloadStore.delete(tenant, blobKey(id, "payload")).catch(ignore);
      throw error;
    }
  }

  /** A process that died between status and admission left a job that nobody runs: admitting it again is harmless. */
  async #repeat(known: string, entry: Entry): Promise<JobRecord> {
    const record = await this.#parts.get(entry.record.tenant, known).catch((error: unknown) => {
      if (!(error instanceof EspalierError) || error.code !== "job_not_found") throw error;
      const message = "The first request of this Idempotency-Key has just been refused; the next one is a first again.";
      throw new EspalierError("request_in_progress", message, { cause: error });
    });
    const { id, tenant, createdAt } = record;
    const { redis, keys } = this.#parts;
    const waits = record.state === "queued" && (await runScript(redis, "jobRepeat", [keys.job(tenant, id)], [])) === 1;
    if (waits) await this.#admit({ ...entry, record, data: { ...entry.data, id, createdAt } });
    return record;
  }

  #tell(entry: Entry): Promise<NewStatusOutcome> {
    return this.#parts.writes.submit(this.#statusOf(entry));
  }

  #statusOf({ record, request: { watched, idempotency }, terms }: Entry): NewStatus {
    return {
      record,
      watch: watched === true ? this.#parts.channel : undefined,
      idempotency: idempotency && { ...idempotency, most: terms.limits?.idempotencyKeys },
    };
  }

  /** Puts a large payload beside the queue, before anything refers to it. */
  async #keepLarge({ tenant, memory, id }: Enqueued, text: string | Uint8Array): Promise<boolean> {
    const { redis, call, payloadStore, clock } = this.#parts;
    const most = LIMITS.payloadBytes;
    if (typeof text === "string" && text.length <= most && Buffer.byteLength(text) <= most) return false;
    // Not worth a write while there is no queue to run it.
    await call(() => redis.ping());
    await payloadStore.put(tenant, blobKey(id, "payload"), typeof text === "string" ? Buffer.from(text) : text, {
      memory,
      expiresAt: clock.now() + 2 * RETENTION_SECONDS.failedJob * 1_000,
    });
    return true;
  }
}

/** What a queue carries of a job; a payload that is kept by reference stays where it is. */
function dataOf({ tenant, memory, id, createdAt, replayOf }: JobRecord, version: number, payload: unknown): JobData {
  const origin = replayOf !== undefined && { origin: replayOf };
  const newer = version > 1 && { version };
  return { tenant, memory, id, createdAt, ...origin, ...newer, ...(payload !== undefined && { payload }) };
}

function ignore(): void {
  // Connection errors reach the caller through the call that fails.
}
