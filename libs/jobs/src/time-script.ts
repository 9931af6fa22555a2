/** `timeNow()`: milliseconds since the epoch by the clock of Redis, the same throughout a script. */
export const TIME = `
local function timeNow()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`;
