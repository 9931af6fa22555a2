/**
 * A token bucket as one number: the time at which the bucket is full again, in microseconds of Redis' clock (the virtual
 * scheduling form of Turner 1986, ITU-T I.371). A request moves it on by the time that one token takes; it may not come to
 * lie further ahead than a whole bucket takes. A bucket that is full is no key, so that tenants that rest hold nothing.
 *
 * The clock is that of Redis alone: API processes whose clocks differ share a bucket all the same. A clock that is set
 * back, or a limit that is lowered, leaves an empty bucket at worst.
 */
export const LIMIT_SCRIPTS = {
  /**
   * KEYS[1] the bucket. ARGV requests per second, burst. Takes one token; answers whether there was one (1 or 0), the whole
   * tokens left, milliseconds until there is one more, milliseconds until the bucket is full.
   */
  requestTake: {
    numberOfKeys: 1,
    lua: `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval = 1000000 / tonumber(ARGV[1])
local whole = interval * tonumber(ARGV[2])
local stored = tonumber(redis.call('GET', KEYS[1]) or '0')
local full = math.min(math.max(stored, now), now + whole)
-- Times are kept as whole microseconds: a token that is short of one is there.
local taken = full + interval <= now + whole + 1
if taken then full = full + interval end
if taken or stored > full then
  redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
end
local left = math.floor((now + whole + 1 - full) / interval)
local nextMs = math.max(0, math.ceil((full + interval * (left + 1) - whole - now) / 1000))
return { taken and 1 or 0, left, nextMs, math.ceil((full - now) / 1000) }`,
  },
} as const;
