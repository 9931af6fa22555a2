import { EspalierError } from "#core";
import { blobKey } from "./keys.js";
import type { JobError, JobKind, JobRecord, JobState, PayloadStore } from "./types.js";

/** The hash of a job as Redis answers it. */
export type JobHash = Readonly<Record<string, string>>;

/** Fields of a status, but for those that are texts of any size, or only for scripts. `job`: what never changes (`constantOf`). */
export const STATUS_FIELDS = [
  "job",
  "state",
  "done",
  "total",
  "startedAt",
  "finishedAt",
  "attempts",
  "error",
  "firstError",
  "replayOf",
  "replayedAs",
] as const;

const ENDED: ReadonlySet<JobState> = new Set(["completed", "failed", "dead", "cancelled"]);

/** Whether a job will never change again. */
export function isEnded(state: JobState): boolean {
  return ENDED.has(state);
}

/** A flat reply of names and values as a hash; `undefined` if it is empty. */
export function hashOf(reply: readonly string[]): JobHash | undefined {
  if (reply.length === 0) return undefined;
  const hash: Record<string, string> = {};
  for (let index = 0; index + 1 < reply.length; index += 2) hash[reply[index] ?? ""] = reply[index + 1] ?? "";
  return hash;
}

/**
 * What never changes of a job and its key does not say, as one text: `<kind> <createdAt> <memory>`. A status is written for every
 * job there is, and costs Redis by the number of its fields.
 */
export function constantOf({ kind, createdAt, memory }: Pick<JobRecord, "kind" | "createdAt" | "memory">): string {
  return `${kind} ${Math.trunc(createdAt)} ${memory}`;
}

/** The kind of a job by that text. */
export function kindOf(constant: string): JobKind {
  return constant.slice(0, constant.indexOf(" ")) as JobKind;
}

/** A record without its result. What a status does not have yet is as at the beginning. */
export function recordOf({ tenant, id }: Pick<JobRecord, "tenant" | "id">, hash: JobHash): JobRecord {
  const [, kind, createdAt, memory = ""] = /^(\S+) (\S+) (.*)$/s.exec(hash["job"] ?? "") ?? [];
  const time = (name: "startedAt" | "finishedAt"): Partial<Record<typeof name, number>> =>
    hash[name] === undefined ? {} : { [name]: Number(hash[name]) };
  return {
    ...{ id, tenant, memory, kind: kind as JobKind, state: hash["state"] as JobState },
    progress: { done: Number(hash["done"] ?? 0), total: Number(hash["total"] ?? 0) },
    createdAt: Number(createdAt),
    ...time("startedAt"),
    ...time("finishedAt"),
    attempts: Number(hash["attempts"] ?? 0),
    ...(hash["error"] !== undefined && { error: JSON.parse(hash["error"]) as JobError }),
    ...(hash["firstError"] !== undefined && { firstError: JSON.parse(hash["firstError"]) as JobError }),
    ...(hash["replayOf"] !== undefined && { replayOf: hash["replayOf"] }),
    ...(hash["replayedAs"] !== undefined && { replayedAs: hash["replayedAs"] }),
  };
}

/**
 * A record with its result, which a large one is read for.
 * @throws EspalierError `job_not_found` if the result has expired before its status
 */
export async function fullRecordOf(
  job: Pick<JobRecord, "tenant" | "id">,
  hash: JobHash,
  payloads: PayloadStore,
): Promise<JobRecord> {
  const record = recordOf(job, hash);
  // A held job has its result already; it is nobody's before it is released.
  if (record.state !== "completed") return record;
  if (hash["result"] !== undefined) return { ...record, result: JSON.parse(hash["result"]) as unknown };
  if (hash["resultAttempt"] === undefined) return record;
  const bytes = await payloads.get(record.tenant, blobKey(record.id, `result-${Number(hash["resultAttempt"])}`));
  if (bytes === undefined) throw new EspalierError("job_not_found", `The result of ${record.id} has expired.`);
  return { ...record, result: JSON.parse(Buffer.from(bytes).toString("utf8")) as unknown };
}

/** What a wake-up says of an ended job: the parts of its record that its end set. */
export type JobEnding = Pick<JobRecord, "state" | "attempts" | "progress"> &
  Partial<Pick<JobRecord, "startedAt" | "finishedAt" | "error" | "result">>;
