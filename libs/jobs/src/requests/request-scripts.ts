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
 * Entries are counted by the slice of time in which they were begun last, a long answer for several: a hash of few numbers, of
 * which those are dropped whose entries have all expired. A tenant with too many begins no further one; none is forgotten
 * early, for its repeat would then happen twice.
 *
 * KEYS[1] is the entry, KEYS[2] the tenant's counts. Times are the clock of Redis.
 */
import { LIMITS } from "#core";

/** Slices of the time for which an entry is kept: so much more of it passes at most before one is no longer counted. */
const SLICES = 24;

/** `count(slice, by)`: more or fewer entries of a slice. */
const COUNT = `
local function count(slice, by)
  if slice and by ~= 0 then redis.call('HINCRBY', KEYS[2], slice, by) end
end
`;

export const REQUEST_SCRIPTS = {
  /**
   * ARGV fingerprint, effect id, leaseMs, keepMs, most entries ('' without end). Answers {'conflict'|'running'}, {'done', answer},
   * {'run', effect id} or {'full', entries, milliseconds until the first of them expire}.
   */
  requestBegin: {
    numberOfKeys: 2,
    lua: `${COUNT}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local keep = tonumber(ARGV[4])
local length = math.max(1, math.floor(keep / ${SLICES}))
local slice = math.floor(now / length)
local function left(of) return (of + 1) * length + keep - now end
local entry = redis.call('HMGET', KEYS[1], 'fingerprint', 'answer', 'leaseUntil', 'effect', 'slice')
if entry[1] then
  if entry[1] ~= ARGV[1] or not entry[4] then return { 'conflict' } end
  if entry[2] then return { 'done', entry[2] } end
  if tonumber(entry[3]) > now then return { 'running' } end
  count(entry[5], -1)
  redis.call('HSET', KEYS[1], 'again', 1)
else
  local live, first = 0, slice
  local counts = redis.call('HGETALL', KEYS[2])
  for at = 1, #counts, 2 do
    local of = tonumber(counts[at])
    if left(of) <= 0 then
      redis.call('HDEL', KEYS[2], counts[at])
    elseif tonumber(counts[at + 1]) > 0 then
      live = live + counts[at + 1]
      first = math.min(first, of)
    end
  end
  if ARGV[5] ~= '' and live >= tonumber(ARGV[5]) then return { 'full', live, left(first) } end
end
local effect = entry[4] or ARGV[2]
redis.call('HSET', KEYS[1], 'job', 'request', 'fingerprint', ARGV[1], 'effect', effect, 'leaseUntil', now + ARGV[3], 'slice', slice)
redis.call('PEXPIRE', KEYS[1], keep)
count(slice, 1)
redis.call('PEXPIRE', KEYS[2], keep + length)
return { 'run', effect }`,
  },

  /** ARGV effect id, answer. Keeps the answer of a request that ran. */
  requestEnd: {
    numberOfKeys: 2,
    lua: `${COUNT}
local entry = redis.call('HMGET', KEYS[1], 'effect', 'answer', 'slice')
if entry[1] ~= ARGV[1] or entry[2] then return 0 end
count(entry[3], math.floor(#ARGV[2] / ${LIMITS.idempotencyAnswerBytes}))
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
    lua: `${COUNT}
local entry = redis.call('HMGET', KEYS[1], 'effect', 'answer', 'again', 'slice')
if entry[1] ~= ARGV[1] or entry[2] then return 0 end
if entry[3] then return redis.call('HSET', KEYS[1], 'leaseUntil', 0) end
count(entry[4], -1)
return redis.call('DEL', KEYS[1])`,
  },
} as const;
