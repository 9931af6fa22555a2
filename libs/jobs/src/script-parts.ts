/** What the scripts of the status share. */

/**
 * The states that never change again, how the processes that watch a job are woken, and how its followers are told. What is
 * told goes to the stream of KEYS[2], which is there from when somebody first followed the job (`jobFollow`) and as long as
 * the job: most jobs are never followed, and an empty stream alone is ten times as large as a status.
 */
export const ENDED = `
local ended = { completed = true, failed = true, dead = true, cancelled = true }
local function wake(watch, message)
  if not watch then return end
  for channel in string.gmatch(watch, '[^,]+') do redis.call('PUBLISH', channel, message) end
end
local function tell(most, ...)
  if not redis.call('XADD', KEYS[2], 'NOMKSTREAM', 'MAXLEN', '~', most, '*', ...) then return false end
  redis.call('PEXPIRE', KEYS[2], redis.call('PTTL', KEYS[1]))
  return true
end
`;

/** Refuses transitions of ended jobs, of held ones, and of older attempts. */
export const GUARDED = `${ENDED}
local status = redis.call('HMGET', KEYS[1], 'state', 'attempts', 'watch', 'keepMs', 'cancel', 'held', 'kind')
if not status[1] then return 'gone' end
if ended[status[1]] then return 'ended' end
if status[6] then return 'held' end
if tonumber(status[2] or '0') > tonumber(ARGV[1]) then return 'fenced' end
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
