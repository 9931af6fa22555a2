import { LIMITS, RETENTION_SECONDS } from "#core";
import { STATUS_FIELDS } from "../record.js";
import { TIME } from "../time-script.js";

/**
 * Deliveries, and how they come to be. A job's end and what is to be told of it are written by one script, so that no end
 * is acknowledged whose deliveries could get lost.
 *
 *   (none) --end of a job--> pending --begin, settle--> delivered | pending, later | dead
 *                               ^---------------------again--------------/
 *
 * - *pending*: to be sent when its time has come. Each request is begun before it is made and settled after it; a worker
 *   that dies between the two leaves a delivery that is sent once more, under the same id.
 * - *dead*: its requests are spent, or its webhook is disabled.
 *
 * Keys of a tenant share its slot. `webhooks` is the hash of its webhooks (id -> JSON); all others begin with its name:
 *   :<webhook>:log               sorted set: deliveries by when their jobs ended
 *   :<webhook>:due               sorted set: pending deliveries by when they are sent
 *   :<webhook>:health            hash: failures since the last success, since when, the last success
 *   :<webhook>:delivery:<event>  hash: a delivery, with the job's record as it was at the end
 *
 * A webhook that lets more deliveries pile up than are kept is disabled: dropping them in silence is no choice, nor is a
 * Redis that fills up.
 */

/** Milliseconds that deliveries are kept. */
export const KEEP_MS = RETENTION_SECONDS.delivery * 1_000;

/**
 * `notify(own, kind, state, jobs)` is for scripts that have just ended jobs of a tenant (tables with an `id`); answers the webhooks
 * that have something to deliver.
 */
export const NOTIFY = `${TIME}
local names = { ${STATUS_FIELDS.map((name) => `'${name}'`).join(", ")} }
local function has(list, item)
  for _, one in ipairs(list) do if one == item then return true end end
  return false
end
local function notify(own, kind, state, jobs)
  local all = redis.call('HGETALL', own .. 'webhooks')
  local told, webhooks = {}, {}
  for at = 1, #all, 2 do
    local webhook = cjson.decode(all[at + 1])
    if not webhook.disabled and has(webhook.events, state) and has(webhook.kinds, kind) then
      webhooks[#webhooks + 1] = { id = all[at], webhook = webhook }
    end
  end
  if #webhooks == 0 then return told end
  local now = timeNow()
  for _, ending in ipairs(jobs) do
    local values = redis.call('HMGET', own .. 'status:' .. ending.id, unpack(names))
    local record = {}
    for at, value in ipairs(values) do
      if value then
        record[#record + 1] = names[at]
        record[#record + 1] = value
      end
    end
    local event = 'evt' .. string.sub(ending.id, 4)
    local body = cjson.encode(record)
    local memory = string.match(values[1] or '', '^%S+ %S+ (.*)$')
    for _, of in ipairs(webhooks) do
      local id, webhook = of.id, of.webhook
      if not webhook.disabled and (not webhook.memory or webhook.memory == memory) then
        local base = own .. 'webhooks:' .. id
        local log, due, delivery = base .. ':log', base .. ':due', base .. ':delivery:'
        local oldest = redis.call('ZCARD', log) >= ${LIMITS.webhookDeliveries} and redis.call('ZRANGE', log, 0, 0)[1]
        if oldest and redis.call('ZSCORE', due, oldest) then
          webhook.disabled = { reason = 'backlog', at = now }
          redis.call('HSET', own .. 'webhooks', id, cjson.encode(webhook))
        else
          if oldest then
            redis.call('ZREM', log, oldest)
            redis.call('DEL', delivery .. oldest)
          end
          redis.call('HSET', delivery .. event, 'event', event, 'job', ending.id, 'jobState', state, 'state', 'pending',
            'attempts', 0, 'createdAt', now, 'nextAt', now, 'record', body)
          redis.call('ZADD', log, now, event)
          redis.call('ZADD', due, now, event)
          for _, key in ipairs({ delivery .. event, log, due }) do redis.call('PEXPIRE', key, ${KEEP_MS}) end
        end
        if not of.told then
          of.told = true
          told[#told + 1] = id
        end
      end
    end
  end
  return told
end
`;
