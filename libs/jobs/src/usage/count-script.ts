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
 * `countEnds(own, kind, state, jobs)` and `countStored(own, effect, nodes, bytes)` count for the tenant whose keys begin with `own`;
 * `effect` is the id of the job whose effect it is.
 */
export const COUNT = `
local day = nil
local function count(usage, name, by)
  day = day or math.floor(redis.call('TIME')[1] / 86400)
  local key = usage .. ':' .. day
  local first = redis.call('HINCRBY', key, name, by) == tonumber(by)
  if first then redis.call('EXPIRE', key, '${RETENTION_SECONDS.usage}', 'NX') end
end
local function countEnds(own, kind, state, jobs) count(own .. 'usage', kind .. ':' .. state, string.format('%d', jobs)) end
local function countStored(own, effect, nodes, bytes)
  if nodes == '0' then return end
  local job = own .. 'status:' .. effect
  if redis.call('EXISTS', job) == 1 and redis.call('HSETNX', job, 'counted', 1) == 0 then return end
  count(own .. 'usage', 'nodes', nodes)
  count(own .. 'usage', 'bytes', bytes)
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
