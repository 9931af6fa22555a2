import { EspalierError } from "#core";
import { blobKey } from "./keys.js";
import type { JobError, JobKind, JobRecord, JobState, PayloadStore } from "./types.js";

/** The hash of a job as Redis answers it. */
export type JobHash = Readonly<Record<string, string>>;

/** Fields of a hash that a list shows: all but the result. */
export const LISTED_FIELDS = [
  "id",
  "tenant",
  "memory",
  "kind",
  "state",
  "done",
  "total",
  "createdAt",
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

/** The fields of a new job. */
export function newHash(record: JobRecord): readonly string[] {
  return [
    ...["id", record.id, "tenant", record.tenant, "memory", record.memory, "kind", record.kind],
    ...["state", "queued", "done", "0", "total", "0", "attempts", "0", "createdAt", String(record.createdAt)],
    ...(record.replayOf === undefined ? [] : ["replayOf", record.replayOf]),
  ];
}

/** A record without its result. */
export function recordOf(hash: JobHash): JobRecord {
  const time = (name: "startedAt" | "finishedAt"): Partial<Record<typeof name, number>> =>
    hash[name] === undefined ? {} : { [name]: Number(hash[name]) };
  return {
    id: hash["id"] ?? "",
    tenant: hash["tenant"] ?? "",
    memory: hash["memory"] ?? "",
    kind: hash["kind"] as JobKind,
    state: hash["state"] as JobState,
    progress: { done: Number(hash["done"] ?? 0), total: Number(hash["total"] ?? 0) },
    createdAt: Number(hash["createdAt"]),
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
export async function fullRecordOf(hash: JobHash, payloads: PayloadStore): Promise<JobRecord> {
  const record = recordOf(hash);
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
