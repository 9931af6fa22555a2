/**
 * Requests under an idempotency key that are no jobs. One entry per tenant and key, beside those of jobs (a key means one
 * thing only):
 *
 *   (none) --begin--> running --end--> done (its answer is kept)
 *     ^                 |  \--abandon--> abandoned: the next try is to find out what happened
 *     |                 \--begin, after its lease--> running again, with the same effect id
 *     \--refused--------/  where no try before it may have done something
 *
 * The effect id is chosen once: what a request makes is made under it, so that one whose process died in the middle is
 * taken over without making anything twice.
 *
 * Entries are counted beside those of jobs (key-counts-script.ts), a long answer for several. A tenant with too many begins no
 * further one; none is forgotten early, for its repeat would then happen twice.
 *
 * KEYS[1] is the entry, KEYS[2] the tenant's counts. Times are the clock of Redis.
 */
import { LIMITS } from "#core";
import { KEY_COUNTS } from "./key-counts-script.js";

export const REQUEST_SCRIPTS = {
  /**
   * ARGV fingerprint, effect id, leaseMs, keepMs, most entries ('' without end). Answers {'conflict'|'running'}, {'done', answer},
   * {'run', effect id} or {'full', entries, milliseconds until the first of them expire}.
   */
  requestBegin: {
    numberOfKeys: 2,
    lua: `${KEY_COUNTS}
local keep = tonumber(ARGV[4])
local slice = sliceOf(keep)
local entry = redis.call('HMGET', KEYS[1], 'fingerprint', 'answer', 'leaseUntil', 'effect', 'slice')
if entry[1] then
  if entry[1] ~= ARGV[1] or not entry[4] then return { 'conflict' } end
  if entry[2] then return { 'done', entry[2] } end
  if tonumber(entry[3]) > timeNow() then return { 'running' } end
  countKeys(KEYS[2], entry[5], -1)
  redis.call('HSET', KEYS[1], 'again', 1)
else
  local live, wait = liveKeys(KEYS[2], keep)
  if ARGV[5] ~= '' and live >= tonumber(ARGV[5]) then return { 'full', live, wait } end
end
local effect = entry[4] or ARGV[2]
redis.call('HSET', KEYS[1], 'job', 'request', 'fingerprint', ARGV[1], 'effect', effect, 'leaseUntil', timeNow() + ARGV[3], 'slice', slice)
redis.call('PEXPIRE', KEYS[1], keep)
countKeys(KEYS[2], slice, 1, keep)
return { 'run', effect }`,
  },

  /** ARGV effect id, answer. Keeps the answer of a request that ran. */
  requestEnd: {
    numberOfKeys: 2,
    lua: `${KEY_COUNTS}
local entry = redis.call('HMGET', KEYS[1], 'effect', 'answer', 'slice')
if entry[1] ~= ARGV[1] or entry[2] then return 0 end
countKeys(KEYS[2], entry[3], math.floor(#ARGV[2] / ${LIMITS.idempotencyAnswerBytes}))
redis.call('HDEL', KEYS[1], 'leaseUntil')
return redis.call('HSET', KEYS[1], 'answer', ARGV[2])`,
  },

  /** ARGV effect id. The next request under the key runs at once, with the same effect id. */
  requestAbandon: {
    numberOfKeys: 2,
    lua: `
local entry = redis.call('HMGET', KEYS[1], 'effect', 'answer')
if entry[1] ~= ARGV[1] or entry[2] then return 0 end
return redis.call('HSET', KEYS[1], 'leaseUntil', 0)`,
  },

  /** ARGV effect id. This try did nothing; where it was the first, the key is free again. */
  requestRefused: {
    numberOfKeys: 2,
    lua: `${KEY_COUNTS}
local entry = redis.call('HMGET', KEYS[1], 'effect', 'answer', 'again', 'slice')
if entry[1] ~= ARGV[1] or entry[2] then return 0 end
if entry[3] then return redis.call('HSET', KEYS[1], 'leaseUntil', 0) end
countKeys(KEYS[2], entry[4], -1)
return redis.call('DEL', KEYS[1])`,
  },
} as const;
