import { KEEP } from "../kept-script.js";
import { ENDED, GUARDED } from "../script-parts.js";
import { COUNT } from "../usage/count-script.js";
import { NOTIFY } from "../webhooks/notify-script.js";

/** Transitions of held jobs (see scripts.ts for the whole machine), and the walk over them. */
export const HELD_SCRIPTS = {
  /**
   * KEYS job, events, usage, effect. ARGV attempt, job token, eventsPerJob, keepQueuedMs, done, total, nodes and bytes that were
   * stored, then the fields of the result, which is shown once the job is released, and of the payload, which is kept if it
   * fails. What was asked to be cancelled has its effects: the wish is forgotten. Answers 'ok', 'held' to a repeat, or why not.
   */
  jobHold: {
    numberOfKeys: 4,
    lua: `${GUARDED}${COUNT}
redis.call('HSET', KEYS[1], 'state', 'active', 'held', '1', 'attempts', ARGV[1], 'done', ARGV[5], 'total', ARGV[6], unpack(ARGV, 9))
redis.call('HDEL', KEYS[1], 'cancel')
countStored(KEYS[3], KEYS[4], ARGV[7], ARGV[8])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
tell(ARGV[3], 'type', 'progress', 'state', 'active', 'attempts', ARGV[1], 'done', ARGV[5], 'total', ARGV[6])
wake(status[3], 'event ' .. ARGV[2])
return 'ok'`,
  },

  /**
   * KEYS job, events. ARGV job token, eventsPerJob, keepQueuedMs, what is left to do of the total. Progress never goes back.
   * Answers 'ok', or 'gone', 'ended', 'running' for a job that is not held.
   */
  jobHeldProgress: {
    numberOfKeys: 2,
    lua: `${ENDED}
local status = redis.call('HMGET', KEYS[1], 'state', 'watch', 'held', 'done', 'total', 'attempts')
if not status[1] then return 'gone' end
if ended[status[1]] then return 'ended' end
if not status[3] then return 'running' end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local done = tonumber(status[5]) - tonumber(ARGV[4])
if done <= tonumber(status[4]) then return 'ok' end
redis.call('HSET', KEYS[1], 'done', done)
tell(ARGV[2], 'type', 'progress', 'state', 'active', 'attempts', status[6], 'done', done, 'total', status[5])
wake(status[2], 'event ' .. ARGV[1])
return 'ok'`,
  },

  /**
   * KEYS job, events, webhooks, usage. ARGV job token, now, eventsPerJob, keepMs, state, error ('' when completed), bytes of ended
   * jobs. Ends a held job with the result that it was held with, or with an error. Answers 'gone', 'ended', 'running', or
   * {'ok', webhooks with something to deliver}, with 'ok, payload' if a payload is kept apart that nobody needs any more.
   */
  jobRelease: {
    numberOfKeys: 4,
    lua: `${ENDED}${NOTIFY}${COUNT}${KEEP}
local status = redis.call('HMGET', KEYS[1], 'state', 'watch', 'held', 'keepMs', 'total', 'payloadApart', 'kind')
if not status[1] then return 'gone' end
if ended[status[1]] then return 'ended' end
if not status[3] then return 'running' end
if ARGV[5] == 'completed' then
  redis.call('HSET', KEYS[1], 'done', status[5])
  redis.call('HDEL', KEYS[1], 'payload')
else
  redis.call('HSET', KEYS[1], 'error', ARGV[6])
  redis.call('HDEL', KEYS[1], 'result', 'resultAttempt')
end
local keepMs = math.max(tonumber(ARGV[4]), tonumber(status[4] or '0'))
redis.call('HSET', KEYS[1], 'state', ARGV[5], 'finishedAt', ARGV[2])
redis.call('HDEL', KEYS[1], 'held', 'payloadApart')
countEnd(KEYS[4], status[7], ARGV[5])
redis.call('PEXPIRE', KEYS[1], keepMs)
local texts = redis.call('HSTRLEN', KEYS[1], 'result') + redis.call('HSTRLEN', KEYS[1], 'payload') + #ARGV[6]
keep(ARGV[5], ARGV[7], texts, tell(ARGV[3], 'type', 'state', 'state', ARGV[5]), keepMs)
wake(status[2], 'end ' .. ARGV[1] .. ' ')
local answer = (ARGV[5] == 'completed' and status[6]) and 'ok, payload' or 'ok'
return { answer, unpack(notify(ARGV[5])) }`,
  },

  /**
   * KEYS held. ARGV limit, restMs. The held jobs that were looked at longest ago, that long at least; looking puts them to
   * the end, so that every one has its turn, whatever the number of those who look. By the clock of Redis.
   */
  heldTake: {
    numberOfKeys: 1,
    lua: `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local tokens = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2] * 1000, 'LIMIT', 0, ARGV[1])
for _, token in ipairs(tokens) do redis.call('ZADD', KEYS[1], 'XX', now, token) end
return tokens`,
  },
} as const;
