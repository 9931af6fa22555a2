import { TIME } from "../time-script.js";
import { KEEP_MS } from "./notify-script.js";

/** Names of the keys of one webhook. KEYS[1] is the tenant's hash of webhooks, ARGV[1] the webhook's id. */
const NAMES = `${TIME}
local base = KEYS[1] .. ':' .. ARGV[1]
local log, due, health, delivery = base .. ':log', base .. ':due', base .. ':health', base .. ':delivery:'
local now = timeNow()
`;

/** Transitions of deliveries (see notify-script.ts), and changes of webhooks. Times are the clock of Redis. */
export const WEBHOOK_SCRIPTS = {
  /** KEYS webhooks. ARGV id, JSON, most of them. Answers 1, or 0 if there are as many already. A known id is written again. */
  webhookAdd: {
    numberOfKeys: 1,
    lua: `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1`,
  },

  /**
   * KEYS webhooks. ARGV id, JSON as it was read, new JSON, 'forgive' to forget its failures. Answers 1, or 0 if it was
   * changed meanwhile.
   */
  webhookReplace: {
    numberOfKeys: 1,
    lua: `${NAMES}
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
if ARGV[4] == 'forgive' then redis.call('HDEL', health, 'failures', 'failingSince') end
return 1`,
  },

  /** KEYS webhooks. ARGV id. Removes a webhook with all of its deliveries, of which there are a bounded number. */
  webhookRemove: {
    numberOfKeys: 1,
    lua: `${NAMES}
local removed = redis.call('HDEL', KEYS[1], ARGV[1])
for _, event in ipairs(redis.call('ZRANGE', log, 0, -1)) do redis.call('UNLINK', delivery .. event) end
redis.call('UNLINK', log, due, health)
return removed`,
  },

  /** KEYS webhooks. ARGV id, limit. Pending deliveries whose time has come, longest due first. */
  deliveriesDue: {
    numberOfKeys: 1,
    lua: `${NAMES}
return redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, ARGV[2])`,
  },

  /**
   * KEYS webhooks. ARGV id, event, most attempts. A request is about to be made: answers the webhook and the delivery's attempt,
   * job state, creation, record and job. Answers {} where there is nothing to send any more, {''} if the delivery is dead by that.
   */
  deliveryBegin: {
    numberOfKeys: 1,
    lua: `${NAMES}
local webhook = redis.call('HGET', KEYS[1], ARGV[1])
local state = redis.call('HGET', delivery .. ARGV[2], 'state')
if not webhook or state ~= 'pending' then
  redis.call('ZREM', due, ARGV[2])
  return {}
end
local spent = tonumber(redis.call('HGET', delivery .. ARGV[2], 'attempts')) >= tonumber(ARGV[3])
if spent or cjson.decode(webhook).disabled then
  redis.call('ZREM', due, ARGV[2])
  redis.call('HSET', delivery .. ARGV[2], 'state', 'dead')
  redis.call('HDEL', delivery .. ARGV[2], 'nextAt')
  if not spent then redis.call('HSET', delivery .. ARGV[2], 'error', 'The webhook is disabled.') end
  return { '' }
end
local attempt = redis.call('HINCRBY', delivery .. ARGV[2], 'attempts', 1)
redis.call('HSET', delivery .. ARGV[2], 'attemptedAt', now)
return { webhook, attempt, unpack(redis.call('HMGET', delivery .. ARGV[2], 'jobState', 'createdAt', 'record', 'job')) }`,
  },

  /**
   * KEYS webhooks. ARGV id, event, attempt, outcome ('delivered', 'dead', or milliseconds until the next request), the
   * answer's status ('' if there was none), error. Answers {failures since the last success, milliseconds since the first of them}.
   */
  deliverySettle: {
    numberOfKeys: 1,
    lua: `${NAMES}
local key = delivery .. ARGV[2]
local known = redis.call('HMGET', key, 'state', 'attempts')
if known[1] == 'pending' and known[2] == ARGV[3] then
  redis.call('HDEL', key, 'status', 'error', 'nextAt')
  if ARGV[5] ~= '' then redis.call('HSET', key, 'status', ARGV[5]) end
  if ARGV[6] ~= '' then redis.call('HSET', key, 'error', ARGV[6]) end
  local delay = tonumber(ARGV[4])
  if delay then
    redis.call('ZADD', due, now + delay, ARGV[2])
    redis.call('HSET', key, 'nextAt', now + delay)
  else
    redis.call('ZREM', due, ARGV[2])
    redis.call('HSET', key, 'state', ARGV[4])
    if ARGV[4] == 'delivered' then redis.call('HSET', key, 'deliveredAt', now) end
  end
end
if ARGV[4] == 'delivered' then
  redis.call('HDEL', health, 'failures', 'failingSince')
  redis.call('HSET', health, 'deliveredAt', now)
  return { 0, 0 }
end
redis.call('HSETNX', health, 'failingSince', now)
local failures = redis.call('HINCRBY', health, 'failures', 1)
return { failures, now - tonumber(redis.call('HGET', health, 'failingSince')) }`,
  },

  /** KEYS webhooks. ARGV id, event. Sends a delivery again, at once, with as many tries as a new one. Answers 1, or 0 if it is gone. */
  deliveryAgain: {
    numberOfKeys: 1,
    lua: `${NAMES}
local key = delivery .. ARGV[2]
if redis.call('EXISTS', key) == 0 then return 0 end
redis.call('HSET', key, 'state', 'pending', 'attempts', 0, 'nextAt', now)
redis.call('HDEL', key, 'deliveredAt')
redis.call('ZADD', due, now, ARGV[2])
for _, one in ipairs({ key, log, due }) do redis.call('PEXPIRE', one, ${KEEP_MS}) end
return 1`,
  },
} as const;
