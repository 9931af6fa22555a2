import type { Redis } from "ioredis";
import { SWEEP_SCRIPTS } from "./background/sweep-scripts.js";
import { ENDING } from "./ending-script.js";
import { HELD_SCRIPTS } from "./held/held-scripts.js";
import { LIMIT_SCRIPTS } from "./limits/limit-scripts.js";
import { KEY_COUNTS } from "./requests/key-counts-script.js";
import { REQUEST_SCRIPTS } from "./requests/request-scripts.js";
import { ENDED, FENCE, GUARDED, WATCH } from "./script-parts.js";
import { USAGE_SCRIPTS } from "./usage/count-script.js";
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
 * worker that lost its lock cannot overwrite what the newer one wrote. KEYS[1] of a script is the status of its job, or, where
 * one script changes many, the beginning of a tenant's keys; all that it touches shares the tenant's hash tag, so that a cluster
 * keeps it in one slot. Where Redis is one node, a script of many goes over tenants (see status-writes.ts).
 */

/** How long the stream of a job lasts that was first followed when it had ended: a client reads it once. */
const LATE_MS = 60_000;

export const SCRIPTS = {
  /**
   * ARGV idempotencyMs, keepQueuedMs, jobsPerTenant, then for each tenant: beginning of its keys, how many jobs, and for each: id,
   * what never changes of it (record.ts), the job that it does again, the channel that is woken, the key of its idempotency key
   * ('' without either); with one of these, fingerprint and most idempotency keys ('' without end). Answers for each
   * {'new'|'repeat'|'conflict', id} or {'full', keys, milliseconds until the first of them expire}. A replay that is there stays as it
   * is: two who ask for it chose the same job, and the slower one may come when it has run. O(jobs).
   */
  jobsSubmit: {
    numberOfKeys: 1,
    lua: `${KEY_COUNTS}
local idempotencyMs, keepMs, most = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local function earlier(own, id, key, fingerprint, mostKeys)
  local seen = redis.call('HMGET', key, 'job', 'fingerprint')
  if seen[1] == id then return { 'new', id } end
  if seen[1] then return { seen[2] == fingerprint and 'repeat' or 'conflict', seen[1] } end
  local slice = sliceOf(idempotencyMs)
  local counts = own .. 'idempotency-counts'
  local live, wait = liveKeys(counts, idempotencyMs)
  if mostKeys ~= '' and live >= tonumber(mostKeys) then return { 'full', live, wait } end
  redis.call('HSET', key, 'job', id, 'fingerprint', fingerprint, 'slice', slice)
  redis.call('PEXPIRE', key, idempotencyMs)
  countKeys(counts, slice, 1, idempotencyMs)
end
local at, answers = 4, {}
while at <= #ARGV do
  local own, count = ARGV[at], tonumber(ARGV[at + 1])
  at = at + 2
  local listed = {}
  for _ = 1, count do
    local id, constant, replayOf, watch, key = unpack(ARGV, at, at + 4)
    at = at + 5
    local known = nil
    if key ~= '' then
      known = earlier(own, id, key, ARGV[at], ARGV[at + 1])
      at = at + 2
    end
    answers[#answers + 1] = known or { 'new', id }
    local isThere = replayOf ~= '' and redis.call('EXISTS', own .. 'status:' .. id) == 1
    if not known and not isThere then
      local fields = { 'job', constant, 'state', 'queued' }
      local function also(name, value)
        if value ~= '' then fields[#fields + 1], fields[#fields + 2] = name, value end
      end
      also('replayOf', replayOf)
      also('watch', watch)
      also('keepMs', key ~= '' and ARGV[1] or '')
      redis.call('HSET', own .. 'status:' .. id, unpack(fields))
      redis.call('PEXPIRE', own .. 'status:' .. id, keepMs)
      listed[#listed + 1] = '0'
      listed[#listed + 1] = id
    end
  end
  if #listed > 0 then
    local list = own .. 'jobs'
    redis.call('ZADD', list, unpack(listed))
    redis.call('PEXPIRE', list, keepMs)
    local over = redis.call('ZCARD', list) - most
    if over > 0 then redis.call('ZREMRANGEBYRANK', list, 0, over - 1) end
  end
end
return answers`,
  },

  /**
   * KEYS job. ARGV key of its idempotency key ('' without). Takes back a submit whose job was refused a place, unless a repeat of
   * it has taken the job over.
   */
  jobForget: {
    numberOfKeys: 1,
    lua: `${KEY_COUNTS}${ENDED}
local own, id = ownOf(KEYS[1])
local status = redis.call('HMGET', KEYS[1], 'state', 'repeated')
if status[1] ~= 'queued' or status[2] then return 0 end
redis.call('ZREM', own .. 'jobs', id)
if ARGV[1] ~= '' then
  local entry = redis.call('HMGET', ARGV[1], 'job', 'slice')
  if entry[1] == id then
    redis.call('DEL', ARGV[1])
    countKeys(own .. 'idempotency-counts', entry[2], -1)
  end
end
return redis.call('DEL', KEYS[1], own .. 'events:' .. id)`,
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
   * ARGV eventsPerJob, keepQueuedMs, then for each tenant: beginning of its keys, how many jobs, and for each: id, attempt, now, and,
   * for a status that expired while nobody worked, what never changes of it and the job that it does again ('' without). Answers for
   * each 'run', 'cancel', 'ended', 'held' or 'fenced'. O(jobs).
   */
  jobsStart: {
    numberOfKeys: 1,
    lua: `${FENCE}
local at, answers = 3, {}
while at <= #ARGV do
  local own, count = ARGV[at], tonumber(ARGV[at + 1])
  at = at + 2
  for _ = 1, count do
    local id, attempt, now, constant, replayOf = unpack(ARGV, at, at + 4)
    at = at + 5
    local key = own .. 'status:' .. id
    local state, attempts, watch, cancel, held, followed =
      unpack(redis.call('HMGET', key, 'state', 'attempts', 'watch', 'cancel', 'held', 'followed'))
    local answer = state and refusal(state, held, attempts, attempt) or cancel and 'cancel' or 'run'
    if answer == 'run' then
      if not state then
        redis.call('HSET', key, 'job', constant)
        if replayOf ~= '' then redis.call('HSET', key, 'replayOf', replayOf) end
      end
      redis.call('HSET', key, 'state', 'active', 'attempts', attempt, 'startedAt', now)
      redis.call('PEXPIRE', key, ARGV[2])
      tell(own, id, followed, ARGV[1], 'type', 'state', 'state', 'active', 'attempts', attempt, 'startedAt', now)
      wake(own, id, watch)
    end
    answers[#answers + 1] = answer
  end
end
return answers`,
  },

  /** KEYS job. ARGV attempt, eventsPerJob, done, total. Answers 'ok', 'cancel' if that is asked for, or why not. */
  jobProgress: {
    numberOfKeys: 1,
    lua: `${GUARDED}
redis.call('HSET', KEYS[1], 'done', ARGV[3], 'total', ARGV[4])
tell(own, id, followed, ARGV[2], 'type', 'progress', 'state', state, 'attempts', ARGV[1], 'done', ARGV[3], 'total', ARGV[4])
wake(own, id, watch)
return cancel and 'cancel' or 'ok'`,
  },

  /**
   * KEYS job. ARGV attempt, eventsPerJob, error ('' if there was none). Back to the queue: between attempts, or given back.
   * Answers 'ok', 'cancel' if that is asked for (then nothing is written: the job must end, not wait), or why not.
   */
  jobRetry: {
    numberOfKeys: 1,
    lua: `${GUARDED}
if cancel then return 'cancel' end
redis.call('HSET', KEYS[1], 'state', 'queued', 'attempts', ARGV[1], 'done', '0', 'total', '0')
if ARGV[3] ~= '' then redis.call('HSETNX', KEYS[1], 'firstError', ARGV[3]) end
tell(own, id, followed, ARGV[2], 'type', 'state', 'state', 'queued', 'attempts', ARGV[1], 'done', '0', 'total', '0')
wake(own, id, watch)
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
   * ARGV eventsPerJob, wakeBytes, then for each tenant, kind and state: beginning of the tenant's keys, kind, state, keepMs, bytes
   * of ended jobs, how many jobs, and for each: id, attempt, the job whose effect it is, nodes and bytes that were stored, how many
   * values follow, and these: the other fields of the hash. Answers {for each 'ok' (also to a repeat) or why not, then for each tenant of which
   * webhooks have something to deliver: the beginning of its keys, how many, and their ids}. O(jobs).
   */
  jobsFinish: {
    numberOfKeys: 1,
    lua: `${FENCE}${ENDING}
local function endingOf(key, state, result)
  local attempts, startedAt, finishedAt, done, total, failure =
    unpack(redis.call('HMGET', key, 'attempts', 'startedAt', 'finishedAt', 'done', 'total', 'error'))
  local text = '{"state":"' .. state .. '","attempts":' .. attempts
    .. ',"progress":{"done":' .. (done or '0') .. ',"total":' .. (total or '0') .. '}'
  if startedAt then text = text .. ',"startedAt":' .. startedAt end
  if finishedAt then text = text .. ',"finishedAt":' .. finishedAt end
  if failure then text = text .. ',"error":' .. failure end
  if result then text = text .. ',"result":' .. result end
  return text .. '}'
end
local at, answer = 3, { {} }
while at <= #ARGV do
  local own, kind, state, keepMs, budget, count = unpack(ARGV, at, at + 5)
  at = at + 6
  local jobs = {}
  for _ = 1, tonumber(count) do
    local id, attempt, effect, nodes, bytes, values = unpack(ARGV, at, at + 5)
    local first, last = at + 6, at + 5 + values
    at = last + 1
    local key = own .. 'status:' .. id
    local before, attempts, watch, kept, held, followed =
      unpack(redis.call('HMGET', key, 'state', 'attempts', 'watch', 'keepMs', 'held', 'followed'))
    local refused = refusal(before, held, attempts, attempt)
    -- An attempt ends once: it is told again whose first answer was lost with its connection.
    local again = before == state and attempts == attempt
    if not refused then
      local job = { id = id, texts = 0, keepMs = longer(keepMs, kept) }
      local result = nil
      for name = first, last, 2 do
        job.texts = job.texts + #ARGV[name + 1]
        if ARGV[name] == 'result' then result = ARGV[name + 1] end
      end
      redis.call('HSET', key, 'state', state, 'attempts', attempt, unpack(ARGV, first, last))
      redis.call('PEXPIRE', key, job.keepMs)
      countStored(own, effect, nodes, bytes)
      job.followed = tell(own, id, followed, ARGV[1], 'type', 'state', 'state', state)
      if watch then
        local small = state ~= 'completed' or (result and #result <= tonumber(ARGV[2]))
        wakeEnd(own, id, watch, small and endingOf(key, state, result))
      end
      jobs[#jobs + 1] = job
    end
    table.insert(answer[1], not again and refused or 'ok')
  end
  if #jobs > 0 then
    local webhooks = endJobs(own, kind, state, budget, jobs)
    if #webhooks > 0 then
      answer[#answer + 1] = own
      answer[#answer + 1] = #webhooks
      for _, webhook in ipairs(webhooks) do answer[#answer + 1] = webhook end
    end
  end
end
return answer`,
  },

  /**
   * KEYS job. ARGV now, keepMs, error, eventsPerJob, bytes of ended jobs. A queued job ends at once; an active one is marked, and
   * its worker is told by the caller. Answers 'gone', 'ended', 'held', 'repeat', 'active' or {'queued', webhooks with
   * something to deliver}.
   */
  jobCancel: {
    numberOfKeys: 1,
    lua: `${ENDED}${ENDING}
local own, id = ownOf(KEYS[1])
local state, watch, held, job, followed =
  unpack(redis.call('HMGET', KEYS[1], 'state', 'watch', 'held', 'job', 'followed'))
if not state then return 'gone' end
if state == 'cancelled' then return 'repeat' end
if ended[state] then return 'ended' end
if held then return 'held' end
if state == 'active' then
  redis.call('HSET', KEYS[1], 'cancel', '1')
  return 'active'
end
redis.call('HSET', KEYS[1], 'state', 'cancelled', 'finishedAt', ARGV[1], 'error', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local told = tell(own, id, followed, ARGV[4], 'type', 'state', 'state', 'cancelled')
wakeEnd(own, id, watch)
local ending = { id = id, texts = #ARGV[3], followed = told, keepMs = ARGV[2] }
return { 'queued', unpack(endJobs(own, kindOf(job), 'cancelled', ARGV[5], { ending })) }`,
  },

  /** KEYS job. ARGV channel, watchersPerJob. Adds a channel to those that are woken; answers the hash. */
  jobWatch: { numberOfKeys: 1, lua: `${WATCH}return redis.call('HGETALL', KEYS[1])` },

  /**
   * KEYS job. ARGV channel, watchersPerJob. The same for who wants all events: the first one to follow a job makes its stream, which
   * begins with what the status knows of the time before. Such an event has the time of what it tells in its id: a stream that is
   * made again is the same one to a follower that comes back.
   */
  jobFollow: {
    numberOfKeys: 1,
    lua: `${ENDED}${WATCH}
local own, id = ownOf(KEYS[1])
local stream = own .. 'events:' .. id
if redis.call('EXISTS', stream) == 0 then
  local job, attempts, startedAt, finishedAt, done, total =
    unpack(redis.call('HMGET', KEYS[1], 'job', 'attempts', 'startedAt', 'finishedAt', 'done', 'total'))
  local last, step = 0, 0
  local function begin(at, ...)
    last, step = math.max(last, tonumber(at or '0')), step + 1
    redis.call('XADD', stream, string.format('%d-%d', last, step), 'type', ...)
  end
  begin(string.match(job, '^%S+ (%d+)'), 'state', 'state', 'queued')
  if startedAt then begin(startedAt, 'state', 'state', 'active', 'attempts', attempts, 'startedAt', startedAt) end
  if state == 'queued' then
    if startedAt then begin(startedAt, 'state', 'state', state, 'attempts', attempts, 'done', '0', 'total', '0') end
  elseif total and total ~= '0' then
    begin(startedAt, 'progress', 'state', 'active', 'attempts', attempts, 'done', done, 'total', total)
  end
  if ended[state] then begin(finishedAt, 'state', 'state', state) end
  redis.call('PEXPIRE', stream, ended[state] and ${LATE_MS} or redis.call('PTTL', KEYS[1]))
  redis.call('HSET', KEYS[1], 'followed', '1')
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
