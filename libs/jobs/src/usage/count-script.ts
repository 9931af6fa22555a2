import { RETENTION_SECONDS } from "#core";

/**
 * What a tenant used on a day, as a hash of counters: one key a tenant and day (days since 1970, UTC, by the clock of Redis),
 * which leaves some time after its day. Every counter is moved by the script that does what is counted, or by one that knows
 * its caller's earlier steps, so that no repeat of either counts twice:
 *
 *   <kind>:<outcome>  jobs that ended, counted by the script that ends them: a job ends once
 *   nodes, bytes      what was stored, counted by the script that accepts the result of the run: once for the job whose
 *                     effect it is, so that of a job and its replays one counts
 *   modelTokens       what models read, attempts that failed included (token-meter.ts)
 *
 * `countEnd(usage, kind, state)` and `countStored(usage, effect, nodes, bytes)` are for scripts whose keys `usage` (the beginning
 * of the keys of days) and `effect` (the job whose effect it is) lie in the slot of the tenant.
 */
export const COUNT = `
local function count(usage, name, by)
  local key = usage .. ':' .. math.floor(redis.call('TIME')[1] / 86400)
  local first = redis.call('HINCRBY', key, name, by) == tonumber(by)
  if first then redis.call('EXPIRE', key, ${RETENTION_SECONDS.usage}, 'NX') end
end
local function countEnd(usage, kind, state) count(usage, (kind or '') .. ':' .. state, 1) end
local function countStored(usage, effect, nodes, bytes)
  if nodes == '0' then return end
  if redis.call('EXISTS', effect) == 1 and redis.call('HSETNX', effect, 'counted', 1) == 0 then return end
  count(usage, 'nodes', nodes)
  count(usage, 'bytes', bytes)
end
`;

/** Scripts over the counters alone. */
export const USAGE_SCRIPTS = {
  /**
   * KEYS usage, the process's mark. ARGV step, tokens, milliseconds that the mark is kept. Counts a step of a process once,
   * however often it is sent.
   */
  usageSpend: {
    numberOfKeys: 2,
    lua: `${COUNT}
if tonumber(redis.call('GET', KEYS[2]) or '0') >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[3])
count(KEYS[1], 'modelTokens', ARGV[2])
return 1`,
  },
} as const;
