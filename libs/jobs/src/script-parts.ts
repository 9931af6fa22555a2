/** What the scripts of the status share. */

/** The states that never change again, and how the processes that watch a job are woken. */
export const ENDED = `
local ended = { completed = true, failed = true, dead = true, cancelled = true }
local function wake(watch, message)
  if not watch then return end
  for channel in string.gmatch(watch, '[^,]+') do redis.call('PUBLISH', channel, message) end
end
`;

/** Refuses transitions of ended jobs, of held ones, and of older attempts. */
export const GUARDED = `${ENDED}
local status = redis.call('HMGET', KEYS[1], 'state', 'attempts', 'watch', 'keepMs', 'cancel', 'held')
if not status[1] then return 'gone' end
if ended[status[1]] then return 'ended' end
if status[6] then return 'held' end
if tonumber(status[2] or '0') > tonumber(ARGV[1]) then return 'fenced' end
`;
