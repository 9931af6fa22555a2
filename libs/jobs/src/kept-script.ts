/** What a job's status takes in Redis beside its texts: names, times, its place in lists (about 0.8 KB), and a reserve. */
const STATUS_BYTES = 1024;

/** An event stream of a job that somebody followed. */
const STREAM_BYTES = 8 * 1024;

/**
 * Jobs that one script drops at most, beside those that make room for what it brings: it stays short. A tenant that is over its
 * budget (it became smaller) comes down to it in so many steps.
 */
const SPARE = 100;

/** Entries of a list that are looked at together. */
const CHUNK = 100;

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
 * result, error and payload), `followed` (it has an event stream) and `keepMs`. O(jobs, and jobs dropped). `longer(keepMs, other)` is
 * the longer of two times. Times stay texts where they can: Redis writes a number of Lua as a fraction, which takes it as long as a
 * small command.
 */
export const KEEP = `
local function longer(keepMs, other)
  return other and tonumber(other) > tonumber(keepMs) and other or keepMs
end
local spare = ${SPARE}
local function drop(own, jobs)
  local keys = {}
  for _, job in ipairs(jobs) do
    local status = own .. 'status:' .. job
    if redis.call('HEXISTS', status, 'keepMs') == 1 then
      redis.call('HDEL', status, 'result', 'resultAttempt', 'payload')
    else
      keys[#keys + 1] = status
    end
    keys[#keys + 1] = own .. 'events:' .. job
  end
  redis.call('DEL', unpack(keys))
  redis.call('ZREM', own .. 'letters', unpack(jobs))
end
local function keep(own, state, budget, jobs)
  local kept = own .. ((state == 'failed' or state == 'dead') and 'kept:failed' or 'kept:ended')
  local function parts(entry) return string.match(entry or '0:0:', '^(%d+):(%d+):(.*)$') end
  local before, bytes = parts(redis.call('LINDEX', kept, -1))
  local entries, keepMs, brought = {}, '0', 0
  for at, job in ipairs(jobs) do
    before, bytes = before + bytes, job.texts + ${STATUS_BYTES} + (job.followed and ${STREAM_BYTES} or 0)
    entries[at] = string.format('%d:%d:%s', before, bytes, job.id)
    keepMs = longer(keepMs, job.keepMs)
    brought = brought + bytes
  end
  local count = redis.call('RPUSH', kept, unpack(entries))
  redis.call('PEXPIRE', kept, keepMs, count == #entries and 'NX' or 'GT')
  local floor = before + bytes - tonumber(budget)
  local room = 0
  while floor > 0 and count > 1 do
    local over = {}
    for _, entry in ipairs(redis.call('LRANGE', kept, 0, math.min(count - 1, ${CHUNK}) - 1)) do
      local since, size, job = parts(entry)
      if tonumber(since) >= floor then break end
      if room >= brought then
        if spare == 0 then break end
        spare = spare - 1
      end
      room = room + size
      over[#over + 1] = job
    end
    if #over == 0 then return end
    redis.call('LPOP', kept, #over)
    drop(own, over)
    count = count - #over
  end
end
`;
