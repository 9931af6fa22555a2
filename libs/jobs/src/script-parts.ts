/** What the scripts of the status share. */

/**
 * Names of a job. Everything of a tenant's jobs begins with `own` (keys.ts): its statuses, their event streams, and its lists.
 * `ownOf(key)` answers it and the id of a job by the key of its status, `kindOf(constant)` its kind by what never changes of it.
 */
const NAMES = `
local function ownOf(key) return string.match(key, '^(.*)status:(.*)$') end
local function kindOf(constant) return string.match(constant or '', '^%S*') end
local function tokenOf(own, id) return string.match(own, '{([^}]*)}:$') .. '.' .. id end
`;

/**
 * The states that never change again, how the processes that watch a job are woken, and how its followers are told. What is
 * told goes to the job's event stream, which is there from when somebody first followed the job (`jobFollow`) and as long as
 * the job: most jobs are never followed, and an empty stream alone is ten times as large as a status.
 */
export const ENDED = `${NAMES}
local ended = { completed = true, failed = true, dead = true, cancelled = true }
local function publish(watch, message)
  for channel in string.gmatch(watch, '[^,]+') do redis.call('PUBLISH', channel, message) end
end
local function wake(own, id, watch)
  if watch then publish(watch, 'event ' .. tokenOf(own, id)) end
end
local function wakeEnd(own, id, watch, ending)
  if watch then publish(watch, 'end ' .. tokenOf(own, id) .. ' ' .. (ending or '')) end
end
local function tell(own, id, followed, most, ...)
  if not followed then return false end
  local stream = own .. 'events:' .. id
  if not redis.call('XADD', stream, 'NOMKSTREAM', 'MAXLEN', '~', most, '*', ...) then return false end
  redis.call('PEXPIRE', stream, redis.call('PTTL', own .. 'status:' .. id))
  return true
end
`;

/** `refusal(state, held, attempts, attempt)`: why an attempt may not change a job, if so: it has ended, is held, or a later attempt has begun. */
export const FENCE = `${ENDED}
local function refusal(state, held, attempts, attempt)
  if not state then return 'gone' end
  if ended[state] then return 'ended' end
  if held then return 'held' end
  if tonumber(attempts or '0') > tonumber(attempt) then return 'fenced' end
end
`;

/** The same for scripts whose KEYS[1] is the job and ARGV[1] the attempt: they go on only where it may. */
export const GUARDED = `${FENCE}
local own, id = ownOf(KEYS[1])
local state, attempts, watch, cancel, held, followed =
  unpack(redis.call('HMGET', KEYS[1], 'state', 'attempts', 'watch', 'cancel', 'held', 'followed'))
local refused = refusal(state, held, attempts, ARGV[1])
if refused then return refused end
`;

/**
 * ARGV channel, watchersPerJob. Adds a channel to those that are woken about the job of KEYS[1]. Answers nothing if there is
 * no such job.
 */
export const WATCH = `
local state, watch = unpack(redis.call('HMGET', KEYS[1], 'state', 'watch'))
if not state then return {} end
watch = watch or ''
local count = select(2, string.gsub(watch, '[^,]+', ''))
if not string.find(',' .. watch .. ',', ',' .. ARGV[1] .. ',', 1, true) and count < tonumber(ARGV[2]) then
  redis.call('HSET', KEYS[1], 'watch', watch == '' and ARGV[1] or (watch .. ',' .. ARGV[1]))
end
`;
