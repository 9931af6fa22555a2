/** What a job's status takes in Redis beside its texts: names, times, its place in lists (about 0.8 KB), and a reserve. */
const STATUS_BYTES = 1024;

/** An event stream of a job that somebody followed. */
const STREAM_BYTES = 8 * 1024;

/** Jobs that one script drops at most, beside one for each that it ends: it stays short. Each end makes room for what it brings, but for a very large one. */
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
 * `keep(own, state, budget, jobs)` is for scripts that have just ended jobs of a tenant: `jobs` are tables of `id`, `texts` (bytes of
 * result, error and payload), `followed` (it has an event stream) and `keepMs`. O(jobs, and jobs dropped).
 */
export const KEEP = `
local function keep(own, state, budget, jobs)
  local kept = own .. ((state == 'failed' or state == 'dead') and 'kept:failed' or 'kept:ended')
  local function parts(entry) return string.match(entry or '0:0:', '^(%d+):(%d+):(.*)$') end
  local before, bytes = parts(redis.call('LINDEX', kept, -1))
  local entries, keepMs = {}, 0
  for at, job in ipairs(jobs) do
    before, bytes = before + bytes, job.texts + ${STATUS_BYTES} + (job.followed and ${STREAM_BYTES} or 0)
    entries[at] = string.format('%.0f:%.0f:%s', before, bytes, job.id)
    keepMs = math.max(keepMs, job.keepMs)
  end
  local count = redis.call('RPUSH', kept, unpack(entries))
  redis.call('PEXPIRE', kept, keepMs, count == #entries and 'NX' or 'GT')
  if before + bytes <= tonumber(budget) then return end
  for _ = 1, math.min(count - 1, ${DROPPED} + #entries) do
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
