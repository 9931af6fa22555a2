import { TIME } from "../time-script.js";

/**
 * The comparison of stores that lie apart, as many processes share it. A sweep goes once through all memories, a page a
 * turn; whoever finds it free takes the next turn:
 *
 *   idle --take, when due or asked for--> sweeping (at `after`) --end of a turn--> sweeping | idle
 *
 * A turn is a lock with an end, which its process puts off as long as it lives: a turn that was not finished is repeated. All times are the clock of Redis. KEYS
 * share the hash tag of the deployment.
 */
export const SWEEP_SCRIPTS = {
  /**
   * KEYS sweep, lock. ARGV token, lockMs, everyMs. Answers {'work', after} (`after` is '' at the beginning), {'busy', ''}
   * or {'idle', ''}.
   */
  sweepTake: {
    numberOfKeys: 2,
    lua: `${TIME}
if not redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return { 'busy', '' } end
local sweep = redis.call('HMGET', KEYS[1], 'after', 'startedAt', 'askedAt')
if sweep[1] then return { 'work', sweep[1] } end
local now = timeNow()
local startedAt = tonumber(sweep[2] or '-1')
local due = startedAt < 0 or now - startedAt >= tonumber(ARGV[3]) or tonumber(sweep[3] or '-1') > startedAt
if not due then
  redis.call('DEL', KEYS[2])
  return { 'idle', '' }
end
redis.call('HSET', KEYS[1], 'after', '', 'startedAt', now)
return { 'work', '' }`,
  },

  /**
   * KEYS sweep, lock, drift. ARGV token, where to go on ('' at the end). What a sweep did not find again is no drift any
   * more. Answers 1, or 0 if the turn was lost to another process.
   */
  sweepTurned: {
    numberOfKeys: 3,
    lua: `${TIME}
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[2])
if ARGV[2] ~= '' then
  redis.call('HSET', KEYS[1], 'after', ARGV[2])
  return 1
end
local now = timeNow()
local startedAt = tonumber(redis.call('HGET', KEYS[1], 'startedAt'))
local drift = redis.call('HGETALL', KEYS[3])
for index = 1, #drift, 2 do
  local seenAt = tonumber(string.match(drift[index + 1], ':(%d+)$'))
  if seenAt < startedAt then redis.call('HDEL', KEYS[3], drift[index]) end
end
redis.call('HDEL', KEYS[1], 'after')
redis.call('HSET', KEYS[1], 'finishedAt', now)
return 1`,
  },

  /** KEYS sweep, lock. ARGV token, lockMs. Puts off the end of a turn. Answers 1, or 0 if it was lost. */
  sweepRenew: {
    numberOfKeys: 2,
    lua: `
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[2], ARGV[2])`,
  },

  /** KEYS sweep, lock. ARGV token. Gives a turn back; the next one begins where it began. */
  sweepGiveBack: {
    numberOfKeys: 2,
    lua: `
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[2])`,
  },

  /** KEYS sweep. Asks for a sweep that begins after now. Answers the time. */
  sweepAsk: {
    numberOfKeys: 1,
    lua: `${TIME}
local now = timeNow()
local startedAt = tonumber(redis.call('HGET', KEYS[1], 'startedAt') or '-1')
if now <= startedAt then now = startedAt + 1 end
redis.call('HSET', KEYS[1], 'askedAt', now)
return now`,
  },

  /** KEYS drift. ARGV memory, points that differ. */
  sweepNote: {
    numberOfKeys: 1,
    lua: `${TIME}
if ARGV[2] == '0' then return redis.call('HDEL', KEYS[1], ARGV[1]) end
return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ':' .. timeNow())`,
  },

  /** KEYS drift. ARGV memory. What is noted of it counts as seen now. */
  sweepKeep: {
    numberOfKeys: 1,
    lua: `${TIME}
local noted = redis.call('HGET', KEYS[1], ARGV[1])
if not noted then return 0 end
local now = timeNow()
return redis.call('HSET', KEYS[1], ARGV[1], string.match(noted, '^%d+') .. ':' .. now)`,
  },
} as const;
