/** What a job's status takes in Redis beside its texts: names, times, its place in lists (about 0.8 KB), and a reserve. */
const STATUS_BYTES = 1024;

/** An event stream of a job that somebody followed. */
const STREAM_BYTES = 8 * 1024;

/** Jobs that one end drops at most: a script stays short. Each end makes room for what it brings, but for a very large one. */
const DROPPED = 100;

/**
 * A tenant's ended jobs stay for a time, and as long as they and those that ended after them fit into a budget of bytes (the
 * newest always does): one tenant cannot fill Redis with what it no longer waits for. Failed jobs have a budget of their
 * own, so that the results of a busy hour do not drop the dead letters of a month.
 *
 *   <prefix>:{tenant}:kept:ended, :failed   lists: `<bytes of all jobs before>:<bytes>:<id>`, in the order of their ends
 *
 * A dropped job is as one whose time is over. Of one with an idempotency key the status stays as long as the key, without
 * its result and its payload: a repeat must find that there was a first. Such keys are counted (requests/key-counts-script.ts).
 *
 * `keep(state, budget, texts, followed, keepMs)` is for scripts whose KEYS[1] is a job that has just ended; `texts` are the bytes of
 * its result, error and payload. O(jobs dropped).
 */
export const KEEP = `
local function keep(state, budget, texts, followed, keepMs)
  local own, id = string.match(KEYS[1], '^(.*)job:(.*)$')
  local kept = own .. ((state == 'failed' or state == 'dead') and 'kept:failed' or 'kept:ended')
  local function parts(entry) return string.match(entry or '0:0:', '^(%d+):(%d+):(.*)$') end
  local before, bytes = parts(redis.call('LINDEX', kept, -1))
  before, bytes = before + bytes, texts + ${STATUS_BYTES} + (followed and ${STREAM_BYTES} or 0)
  local count = redis.call('RPUSH', kept, string.format('%.0f:%.0f:%s', before, bytes, id))
  redis.call('PEXPIRE', kept, keepMs, count == 1 and 'NX' or 'GT')
  for _ = 1, math.min(count - 1, ${DROPPED}) do
    local since, _, job = parts(redis.call('LINDEX', kept, 0))
    if before + bytes - since <= tonumber(budget) then return end
    redis.call('LPOP', kept)
    if redis.call('HEXISTS', own .. 'job:' .. job, 'keepMs') == 1 then
      redis.call('HDEL', own .. 'job:' .. job, 'result', 'resultAttempt', 'payload')
    else
      redis.call('DEL', own .. 'job:' .. job)
    end
    redis.call('DEL', own .. 'events:' .. job)
    redis.call('ZREM', own .. 'letters', job)
  end
end
`;
