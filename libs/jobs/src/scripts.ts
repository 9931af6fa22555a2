import type { Redis } from "ioredis";
import { SWEEP_SCRIPTS } from "./background/sweep-scripts.js";
import { HELD_SCRIPTS } from "./held/held-scripts.js";
import { KEEP } from "./kept-script.js";
import { LIMIT_SCRIPTS } from "./limits/limit-scripts.js";
import { KEY_COUNTS } from "./requests/key-counts-script.js";
import { REQUEST_SCRIPTS } from "./requests/request-scripts.js";
import { ENDED, GUARDED, WATCH } from "./script-parts.js";
import { COUNT, USAGE_SCRIPTS } from "./usage/count-script.js";
import { NOTIFY } from "./webhooks/notify-script.js";
import { WEBHOOK_SCRIPTS } from "./webhooks/webhook-scripts.js";

/**
 * The status of a job as a state machine. Each transition is one script, so that it is atomic and one round trip:
 *
 *   (none) --submit--> queued --start--> active --finish--> completed | failed | dead | cancelled
 *                        ^  \--cancel--> cancelled   |--retry--> queued
 *                                                    \--hold--> active, held --release--> completed | failed | dead | cancelled
 *
 * A held job's run is over and its effects are stored; it waits, without a slot, for what others do for it (an insert for
 * the vectors of its nodes). Users see it as `active`, with progress. No attempt can change it, a later run finds nothing to
 * do, and it cannot be cancelled: there is nothing left to stop. Whoever sees that its work is done releases it; the second
 * one to do so changes nothing.
 *
 * What is to be told of a job's end is written by the script that ends it (webhooks/notify-script.ts).
 *
 * An ended job never changes again. A transition of an attempt is refused once a later attempt has begun (fencing): a
 * worker that lost its lock cannot overwrite what the newer one wrote. KEYS of a script share the tenant's hash tag.
 */

/** How long the stream of a job lasts that was first followed when it had ended: a client reads it once. */
const LATE_MS = 60_000;

export const SCRIPTS = {
  /**
   * KEYS job, events, list, idempotency, idempotency counts. ARGV id, fingerprint ('' without), idempotencyMs, keepQueuedMs,
   * jobsPerTenant, most idempotency keys ('' without end), then the fields of the hash. Answers {'new'|'repeat'|'conflict', id}
   * or {'full', keys, milliseconds until the first of them expire}.
   */
  jobSubmit: {
    numberOfKeys: 5,
    lua: `${KEY_COUNTS}
if ARGV[2] ~= '' then
  local seen = redis.call('HMGET', KEYS[4], 'job', 'fingerprint')
  if seen[1] then return { seen[2] == ARGV[2] and 'repeat' or 'conflict', seen[1] } end
  local keep = tonumber(ARGV[3])
  local slice = sliceOf(keep)
  local live, wait = liveKeys(KEYS[5], keep)
  if ARGV[6] ~= '' and live >= tonumber(ARGV[6]) then return { 'full', live, wait } end
  redis.call('HSET', KEYS[4], 'job', ARGV[1], 'fingerprint', ARGV[2], 'slice', slice)
  redis.call('PEXPIRE', KEYS[4], keep)
  countKeys(KEYS[5], slice, 1, keep)
end
redis.call('HSET', KEYS[1], unpack(ARGV, 7))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('ZADD', KEYS[3], 0, ARGV[1])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
local over = redis.call('ZCARD', KEYS[3]) - tonumber(ARGV[5])
if over > 0 then redis.call('ZREMRANGEBYRANK', KEYS[3], 0, over - 1) end
return { 'new', ARGV[1] }`,
  },

  /**
   * KEYS job, events, list, idempotency, idempotency counts. ARGV id. Takes back a submit whose job was refused a place, unless
   * a repeat of it has taken the job over.
   */
  jobForget: {
    numberOfKeys: 5,
    lua: `${KEY_COUNTS}
local status = redis.call('HMGET', KEYS[1], 'state', 'repeated')
if status[1] ~= 'queued' or status[2] then return 0 end
redis.call('ZREM', KEYS[3], ARGV[1])
local entry = redis.call('HMGET', KEYS[4], 'job', 'slice')
if entry[1] == ARGV[1] then
  redis.call('DEL', KEYS[4])
  countKeys(KEYS[5], entry[2], -1)
end
return redis.call('DEL', KEYS[1], KEYS[2])`,
  },

  /** KEYS job. A repeat is about to admit the job again. Answers 1 if it is queued: then its first submit does not take it back. */
  jobRepeat: {
    numberOfKeys: 1,
    lua: `
if redis.call('HGET', KEYS[1], 'state') ~= 'queued' then return 0 end
redis.call('HSET', KEYS[1], 'repeated', 1)
return 1`,
  },

  /**
   * KEYS job, events. ARGV attempt, now, job token, eventsPerJob, keepQueuedMs, then the fields of a hash that expired
   * while nobody worked. Answers 'run', 'cancel', 'ended', 'held' or 'fenced'.
   */
  jobStart: {
    numberOfKeys: 2,
    lua: `${ENDED}
local status = redis.call('HMGET', KEYS[1], 'state', 'attempts', 'watch', 'cancel', 'held')
if status[1] and ended[status[1]] then return 'ended' end
if status[5] then return 'held' end
if tonumber(status[2] or '0') > tonumber(ARGV[1]) then return 'fenced' end
if status[4] then return 'cancel' end
if not status[1] then redis.call('HSET', KEYS[1], unpack(ARGV, 6)) end
redis.call('HSET', KEYS[1], 'state', 'active', 'attempts', ARGV[1], 'startedAt', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
tell(ARGV[4], 'type', 'state', 'state', 'active', 'attempts', ARGV[1], 'startedAt', ARGV[2])
wake(status[3], 'event ' .. ARGV[3])
return 'run'`,
  },

  /**
   * KEYS job, events. ARGV attempt, job token, eventsPerJob, done, total. Answers 'ok', 'cancel' if that is asked for, or
   * why not.
   */
  jobProgress: {
    numberOfKeys: 2,
    lua: `${GUARDED}
redis.call('HSET', KEYS[1], 'done', ARGV[4], 'total', ARGV[5])
tell(ARGV[3], 'type', 'progress', 'state', status[1], 'attempts', ARGV[1], 'done', ARGV[4], 'total', ARGV[5])
wake(status[3], 'event ' .. ARGV[2])
return status[5] and 'cancel' or 'ok'`,
  },

  /**
   * KEYS job, events. ARGV attempt, job token, eventsPerJob, error ('' if there was none). Back to the queue: between
   * attempts, or given back. Answers 'ok', 'cancel' if that is asked for (then nothing is written: the job must end, not wait), or why not.
   */
  jobRetry: {
    numberOfKeys: 2,
    lua: `${GUARDED}
if status[5] then return 'cancel' end
redis.call('HSET', KEYS[1], 'state', 'queued', 'attempts', ARGV[1], 'done', '0', 'total', '0')
if ARGV[4] ~= '' then redis.call('HSETNX', KEYS[1], 'firstError', ARGV[4]) end
tell(ARGV[3], 'type', 'state', 'state', 'queued', 'attempts', ARGV[1], 'done', '0', 'total', '0')
wake(status[3], 'event ' .. ARGV[2])
return 'ok'`,
  },

  /**
   * KEYS job. ARGV id of a new job. Chooses the job that does the work of a failed one again, once: answers 'gone', 'not
   * failed' or the id of the first that was chosen.
   */
  jobReplay: {
    numberOfKeys: 1,
    lua: `
local state = redis.call('HGET', KEYS[1], 'state')
if not state then return 'gone' end
if state ~= 'failed' and state ~= 'dead' then return 'not failed' end
redis.call('HSETNX', KEYS[1], 'replayedAs', ARGV[1])
return redis.call('HGET', KEYS[1], 'replayedAs')`,
  },

  /** KEYS job. The job that was chosen to do its work again has its place: it is the only one, also when it is gone. */
  jobReplayed: {
    numberOfKeys: 1,
    lua: `return redis.call('HEXISTS', KEYS[1], 'replayedAs') == 1 and redis.call('HSET', KEYS[1], 'replayPlaced', 1)`,
  },

  /** KEYS job, the new job. ARGV id of the new job. Takes back the choice of a job that there is not. */
  jobUnreplay: {
    numberOfKeys: 2,
    lua: `
if redis.call('EXISTS', KEYS[2]) == 1 or redis.call('HGET', KEYS[1], 'replayedAs') ~= ARGV[1] then return 0 end
return redis.call('HDEL', KEYS[1], 'replayedAs')`,
  },

  /**
   * KEYS job, events, webhooks, usage, effect. ARGV attempt, job token, eventsPerJob, keepMs, bytes of ended jobs, wake-up text
   * ('' if it is too large), state, nodes and bytes that were stored, then the other fields of the hash. Answers {'ok', webhooks
   * with something to deliver} or why not.
   */
  jobFinish: {
    numberOfKeys: 5,
    lua: `${GUARDED}${NOTIFY}${COUNT}${KEEP}
local keepMs = math.max(tonumber(ARGV[4]), tonumber(status[4] or '0'))
redis.call('HSET', KEYS[1], 'state', ARGV[7], 'attempts', ARGV[1], unpack(ARGV, 10))
redis.call('PEXPIRE', KEYS[1], keepMs)
countEnd(KEYS[4], status[7], ARGV[7])
countStored(KEYS[4], KEYS[5], ARGV[8], ARGV[9])
local texts = 0
for at = 11, #ARGV, 2 do texts = texts + #ARGV[at] end
keep(ARGV[7], ARGV[5], texts, tell(ARGV[3], 'type', 'state', 'state', ARGV[7]), keepMs)
wake(status[3], 'end ' .. ARGV[2] .. ' ' .. ARGV[6])
return { 'ok', unpack(notify(ARGV[7])) }`,
  },

  /**
   * KEYS job, events, webhooks, usage. ARGV job token, now, keepMs, error, eventsPerJob, bytes of ended jobs. A queued job
   * ends at once; an active one is marked, and its worker is told by the caller. Answers 'gone', 'ended', 'held', 'repeat',
   * 'active' or {'queued', webhooks with something to deliver}.
   */
  jobCancel: {
    numberOfKeys: 4,
    lua: `${ENDED}${NOTIFY}${COUNT}${KEEP}
local status = redis.call('HMGET', KEYS[1], 'state', 'watch', 'held', 'kind')
if not status[1] then return 'gone' end
if status[1] == 'cancelled' then return 'repeat' end
if ended[status[1]] then return 'ended' end
if status[3] then return 'held' end
if status[1] == 'active' then
  redis.call('HSET', KEYS[1], 'cancel', '1')
  return 'active'
end
redis.call('HSET', KEYS[1], 'state', 'cancelled', 'finishedAt', ARGV[2], 'error', ARGV[4])
countEnd(KEYS[4], status[4], 'cancelled')
redis.call('PEXPIRE', KEYS[1], ARGV[3])
keep('cancelled', ARGV[6], #ARGV[4], tell(ARGV[5], 'type', 'state', 'state', 'cancelled'), ARGV[3])
wake(status[2], 'end ' .. ARGV[1] .. ' ')
return { 'queued', unpack(notify('cancelled')) }`,
  },

  /** KEYS job. ARGV channel, watchersPerJob. Adds a channel to those that are woken; answers the hash. */
  jobWatch: { numberOfKeys: 1, lua: `${WATCH}return redis.call('HGETALL', KEYS[1])` },

  /**
   * KEYS job, events. ARGV channel, watchersPerJob. The same for who wants all events: the first one to follow a job makes its
   * stream, which begins with what the status knows of the time before.
   */
  jobFollow: {
    numberOfKeys: 2,
    lua: `${ENDED}${WATCH}
if redis.call('EXISTS', KEYS[2]) == 0 then
  local function begin(...) redis.call('XADD', KEYS[2], '*', 'type', ...) end
  local attempts, startedAt, done, total = unpack(redis.call('HMGET', KEYS[1], 'attempts', 'startedAt', 'done', 'total'))
  begin('state', 'state', 'queued')
  if startedAt then begin('state', 'state', 'active', 'attempts', attempts, 'startedAt', startedAt) end
  if state == 'queued' then
    if startedAt then begin('state', 'state', state, 'attempts', attempts, 'done', '0', 'total', '0') end
  elseif total ~= '0' then
    begin('progress', 'state', 'active', 'attempts', attempts, 'done', done, 'total', total)
  end
  if ended[state] then begin('state', 'state', state) end
  redis.call('PEXPIRE', KEYS[2], ended[state] and ${LATE_MS} or redis.call('PTTL', KEYS[1]))
end
return redis.call('HGETALL', KEYS[1])`,
  },

  ...HELD_SCRIPTS,
  ...WEBHOOK_SCRIPTS,
  ...LIMIT_SCRIPTS,
  ...REQUEST_SCRIPTS,
  ...SWEEP_SCRIPTS,
  ...USAGE_SCRIPTS,
} as const;

export type ScriptName = keyof typeof SCRIPTS;

/** What a script that ends jobs answers: whether it did, and the webhooks that are to hear of it. */
export function endAnswer(reply: unknown): { readonly answer: string; readonly webhooks: readonly string[] } {
  const [answer = "", ...webhooks] = [reply].flat() as string[];
  return { answer, webhooks };
}

/** Runs one of our scripts on a connection made by `connectRedis`. One round trip once the server knows the script. */
export function runScript(
  redis: Redis,
  name: ScriptName,
  keys: readonly string[],
  values: readonly (string | number)[],
): Promise<unknown> {
  const commands = redis as unknown as Record<ScriptName, (...all: (string | number)[]) => Promise<unknown>>;
  return commands[name](...keys, ...values);
}
