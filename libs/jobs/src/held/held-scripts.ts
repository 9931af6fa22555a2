import { ENDING } from "../ending-script.js";
import { ENDED, GUARDED } from "../script-parts.js";
import { COUNT } from "../usage/count-script.js";

/** Transitions of held jobs (see scripts.ts for the whole machine), and the walk over them. */
export const HELD_SCRIPTS = {
  /**
   * KEYS job. ARGV attempt, eventsPerJob, keepQueuedMs, done, total, the job whose effect it is, nodes and bytes that were stored,
   * then the fields of the result, which is shown once the job is released, and of the payload, which is kept if it fails. What was
   * asked to be cancelled has its effects: the wish is forgotten. Answers 'ok', 'held' to a repeat, or why not.
   */
  jobHold: {
    numberOfKeys: 1,
    lua: `${GUARDED}${COUNT}
redis.call('HSET', KEYS[1], 'state', 'active', 'held', '1', 'attempts', ARGV[1], 'done', ARGV[4], 'total', ARGV[5], unpack(ARGV, 9))
redis.call('HDEL', KEYS[1], 'cancel')
countStored(own, ARGV[6], ARGV[7], ARGV[8])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
tell(own, id, followed, ARGV[2], 'type', 'progress', 'state', 'active', 'attempts', ARGV[1], 'done', ARGV[4], 'total', ARGV[5])
wake(own, id, watch)
return 'ok'`,
  },

  /**
   * KEYS job. ARGV eventsPerJob, keepQueuedMs, what is left to do of the total. Progress never goes back. Answers 'ok', or 'gone',
   * 'ended', 'running' for a job that is not held.
   */
  jobHeldProgress: {
    numberOfKeys: 1,
    lua: `${ENDED}
local own, id = ownOf(KEYS[1])
local state, watch, held, before, total, attempts, followed =
  unpack(redis.call('HMGET', KEYS[1], 'state', 'watch', 'held', 'done', 'total', 'attempts', 'followed'))
if not state then return 'gone' end
if ended[state] then return 'ended' end
if not held then return 'running' end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local done = tonumber(total) - tonumber(ARGV[3])
if done <= tonumber(before) then return 'ok' end
redis.call('HSET', KEYS[1], 'done', done)
tell(own, id, followed, ARGV[1], 'type', 'progress', 'state', 'active', 'attempts', attempts, 'done', done, 'total', total)
wake(own, id, watch)
return 'ok'`,
  },

  /**
   * KEYS job. ARGV now, eventsPerJob, keepMs, state, error ('' when completed), bytes of ended jobs. Ends a held job with the result
   * that it was held with, or with an error. Answers 'gone', 'ended', 'running', or {'ok', webhooks with something to
   * deliver}, with 'ok, payload' if a payload is kept apart that nobody needs any more.
   */
  jobRelease: {
    numberOfKeys: 1,
    lua: `${ENDED}${ENDING}
local own, id = ownOf(KEYS[1])
local before, watch, held, kept, total, payloadApart, job, followed =
  unpack(redis.call('HMGET', KEYS[1], 'state', 'watch', 'held', 'keepMs', 'total', 'payloadApart', 'job', 'followed'))
if not before then return 'gone' end
if ended[before] then return 'ended' end
if not held then return 'running' end
local state = ARGV[4]
if state == 'completed' then
  redis.call('HSET', KEYS[1], 'done', total)
  redis.call('HDEL', KEYS[1], 'payload')
else
  redis.call('HSET', KEYS[1], 'error', ARGV[5])
  redis.call('HDEL', KEYS[1], 'result', 'resultAttempt')
end
local keepMs = longer(ARGV[3], kept)
redis.call('HSET', KEYS[1], 'state', state, 'finishedAt', ARGV[1])
redis.call('HDEL', KEYS[1], 'held', 'payloadApart')
redis.call('PEXPIRE', KEYS[1], keepMs)
local texts = redis.call('HSTRLEN', KEYS[1], 'result') + redis.call('HSTRLEN', KEYS[1], 'payload') + #ARGV[5]
local told = tell(own, id, followed, ARGV[2], 'type', 'state', 'state', state)
wakeEnd(own, id, watch)
local ending = { id = id, texts = texts, followed = told, keepMs = keepMs }
local answer = (state == 'completed' and payloadApart) and 'ok, payload' or 'ok'
return { answer, unpack(endJobs(own, kindOf(job), state, ARGV[6], { ending })) }`,
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
