import { TIME } from "../time-script.js";

/** Slices of the time for which a key is remembered: so much more of it passes at most before one is no longer counted. */
const SLICES = 24;

/**
 * A tenant's idempotency keys, of jobs and of other writes, counted by the slice of time in which they were used first: a hash
 * of few numbers, of which those are dropped whose keys have all expired.
 *
 * `sliceOf(keep)` is the slice of now. `liveKeys(counts, keep)` answers how many keys there are and in how many milliseconds the
 * first of them expire. `countKeys(counts, slice, by, keep)` counts more or fewer. Times are the clock of Redis.
 */
export const KEY_COUNTS = `${TIME}
local function sliceLength(keep) return math.max(1, math.floor(keep / ${SLICES})) end
local function sliceOf(keep) return math.floor(timeNow() / sliceLength(keep)) end
local function liveKeys(counts, keep)
  local now, length = timeNow(), sliceLength(keep)
  local function left(of) return (of + 1) * length + keep - now end
  local live, first = 0, sliceOf(keep)
  local all = redis.call('HGETALL', counts)
  for at = 1, #all, 2 do
    local of = tonumber(all[at])
    if left(of) <= 0 then
      redis.call('HDEL', counts, all[at])
    else
      live = live + all[at + 1]
      first = math.min(first, of)
    end
  end
  return live, left(first)
end
local function countKeys(counts, slice, by, keep)
  if not slice or by == 0 then return end
  if redis.call('HINCRBY', counts, slice, by) <= 0 then redis.call('HDEL', counts, slice) end
  if keep then redis.call('PEXPIRE', counts, keep + sliceLength(keep)) end
end
`;
