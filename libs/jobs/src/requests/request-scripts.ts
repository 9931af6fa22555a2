/**
 * Requests under an idempotency key that are no jobs. One entry per tenant and key, beside those of jobs (a key means one
 * thing only):
 *
 *   (none) --begin--> running --end--> done (its answer is kept)
 *                       |  \--abandon--> (none): nothing happened, or the next try is to find out
 *                       \--begin, after its lease--> running again, with the same effect id
 *
 * The effect id is chosen once: what a request makes is made under it, so that one whose process died in the middle is
 * taken over without making anything twice. KEYS[1] is the entry. Times are the clock of Redis.
 */
export const REQUEST_SCRIPTS = {
  /** ARGV fingerprint, effect id, leaseMs, keepMs. Answers {'conflict'|'running'}, {'done', answer} or {'run', effect id}. */
  requestBegin: {
    numberOfKeys: 1,
    lua: `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local entry = redis.call('HMGET', KEYS[1], 'fingerprint', 'answer', 'leaseUntil', 'effect')
if entry[1] then
  if entry[1] ~= ARGV[1] or not entry[4] then return { 'conflict' } end
  if entry[2] then return { 'done', entry[2] } end
  if tonumber(entry[3]) > now then return { 'running' } end
end
local effect = entry[4] or ARGV[2]
redis.call('HSET', KEYS[1], 'job', 'request', 'fingerprint', ARGV[1], 'effect', effect, 'leaseUntil', now + ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return { 'run', effect }`,
  },

  /** ARGV effect id, answer. Keeps the answer of a request that ran. */
  requestEnd: {
    numberOfKeys: 1,
    lua: `
if redis.call('HGET', KEYS[1], 'effect') ~= ARGV[1] then return 0 end
redis.call('HDEL', KEYS[1], 'leaseUntil')
return redis.call('HSET', KEYS[1], 'answer', ARGV[2])`,
  },

  /** ARGV effect id. The next request under the key runs at once, with the same effect id. */
  requestAbandon: {
    numberOfKeys: 1,
    lua: `
local entry = redis.call('HMGET', KEYS[1], 'effect', 'answer')
if entry[1] ~= ARGV[1] or entry[2] then return 0 end
return redis.call('HSET', KEYS[1], 'leaseUntil', 0)`,
  },
} as const;
