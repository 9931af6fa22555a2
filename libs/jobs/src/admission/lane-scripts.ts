/**
 * Admission of one lane: whose job goes next. Every transition is one script, of one job or of many.
 *
 *   (none) --submit--> queued --dispatch--> in flight --finish--> (none)
 *                        |  \--cancel--> (none)
 *                        \-- waits behind its ordering key until the job before it is finished or cancelled
 *
 * - *queued*: the envelope is in its tenant's list, or, while another job of its ordering key is ahead, in the list of that
 *   key. At most one job of a key is in a tenant's list or in flight, so that the list never blocks and the key keeps its order.
 * - *in flight*: released to one process, which adds it to its queue, or in that queue, or running. That process may die
 *   before it added it, and a job's end may get lost: what is in flight for some seconds is looked after by a sweep, and from
 *   then on now and then, whether it has ended and whether its queue has it (adding the same job twice is one job).
 *   What is in flight is bounded by the lane's window, which is twice what the workers run at once. A tenant
 *   that is alone holds enough of it to keep all of them busy and some jobs at hand, and leaves room: who comes beside a flood
 *   goes to the queue at once, behind a fraction of what runs. While others have work one tenant holds at most half
 *   of the window, or one and a half times the part that its weight earns if that is more (a limit at the very part would
 *   cut short the turns that earn it).
 *
 * Dispatch is deficit round robin (Shreedhar and Varghese 1996): the tenants with something in their lists form a ring; a
 * turn adds quantum * weight to a tenant's deficit and takes envelopes from its list while the deficit covers their cost. A
 * turn that the window cut short goes on where it was. When one whole round took nothing because every cost is larger than
 * its deficit, the rounds until the first could go are granted at once, so that a call is O(tenants in the ring + jobs taken).
 *
 * All times are the clock of Redis: processes whose clocks differ agree.
 *
 * KEYS[1] is the lane's tag; all keys of a lane begin with it and share its slot. Names below it:
 *   ring                 list: tenants with something in their lists, the one whose turn it is first
 *   turn                 the tenant at the ring's head whose turn has begun
 *   list:<tenant>        list: ids ready to go, oldest first
 *   order:<key>          list: ids behind another of the same ordering key
 *   holder               hash: ordering key -> the id that is ahead
 *   envelopes            hash: id -> envelope (see `envelopeText`)
 *   tenants              hash: tenant -> 'waiting bytes flying deficit cap': queued envelopes, their bytes, jobs in flight,
 *                        tokens, and how many it may have in flight (what the caller says when absent)
 *   weight               hash: tenant -> weight (1 when absent)
 *   workers              sorted set: worker and its slots by when it no longer counts
 *   flight               sorted set: ids in flight by when they are looked after
 *
 * Redis spends most of a script on its commands and their arguments. So a script reads each tenant once, and writes what it
 * changed of all jobs together at its end.
 */

import { TIME } from "../time-script.js";

/** What one text of an envelope is made of. */
export interface EnvelopeHead {
  /** When the job was submitted; whole milliseconds are kept. */
  readonly createdAt: number;
  /** Tokens; whole ones are kept. */
  readonly cost: number;
  /** Of the data. */
  readonly bytes: number;
  /** Without white space, as the ordering key. */
  readonly tenant: string;
  readonly order?: string | undefined;
}

/** An envelope as it is kept: a line that scripts read, then the data, which they do not. */
export function envelopeText({ createdAt, cost, bytes, tenant, order = "" }: EnvelopeHead, data: string): string {
  return `${Math.trunc(createdAt)} ${Math.trunc(cost)} ${bytes} ${tenant} ${order}\n${data}`;
}

/** The data of an envelope. */
export function envelopeData(text: string): string {
  return text.slice(text.indexOf("\n") + 1);
}

/** Values of a command at most: Lua passes no more than some thousands. Even, so that pairs stay together. */
const CHUNK = 1_000;

const PRELUDE = `${TIME}
local tag = KEYS[1]
local now = timeNow()
local function key(name) return tag .. ':' .. name end
local function many(command, name, values)
  for from = 1, #values, ${CHUNK} do
    redis.call(command, key(name), unpack(values, from, math.min(from + ${CHUNK - 1}, #values)))
  end
end
`;

/** Reads and writes what the lane knows of tenants and envelopes; a script that changes a tenant ends with `save`. */
const STATE = `
local function parse(text)
  local _, cost, bytes, tenant, order = string.match(text, '^(%d+) (%d+) (%d+) (%S+) (%S*)\\n')
  return { text = text, cost = tonumber(cost), bytes = tonumber(bytes), tenant = tenant, order = order ~= '' and order }
end
local function envelope(id)
  local text = redis.call('HGET', key('envelopes'), id)
  return text and parse(text)
end
local tenants = {}
local function tenantOf(name)
  if not tenants[name] then
    local text = redis.call('HGET', key('tenants'), name) or '0 0 0 0 '
    local waiting, bytes, flying, deficit, cap = string.match(text, '^(%d+) (%d+) (%d+) (%S+) (%d*)$')
    tenants[name] = {
      text = text, waiting = tonumber(waiting), bytes = tonumber(bytes), flying = tonumber(flying),
      deficit = tonumber(deficit), cap = tonumber(cap)
    }
  end
  return tenants[name]
end
local function exact(number) return string.format(number % 1 == 0 and '%d' or '%.17g', number) end
local function save()
  local kept, idle = {}, {}
  for name, of in pairs(tenants) do
    local text = string.format('%d %d %d %s %s', of.waiting, of.bytes, of.flying, exact(of.deficit), of.cap and exact(of.cap) or '')
    if of.waiting == 0 and of.flying == 0 then
      idle[#idle + 1] = name
    elseif text ~= of.text then
      kept[#kept + 1] = name
      kept[#kept + 1] = text
    end
  end
  many('HSET', 'tenants', kept)
  many('HDEL', 'tenants', idle)
end
local function ready(tenant, id)
  if redis.call('RPUSH', key('list:' .. tenant), id) == 1 then redis.call('RPUSH', key('ring'), tenant) end
end
local function passOn(of)
  if not of.order then return end
  local following = redis.call('LPOP', key('order:' .. of.order))
  if not following then redis.call('HDEL', key('holder'), of.order) return end
  redis.call('HSET', key('holder'), of.order, following)
  ready(envelope(following).tenant, following)
end
`;

/** Of the window, what a tenant has at most while nobody else waits. */
const ALONE_PART = 0.65;

/**
 * ARGV of every script that dispatches begin with window, cap, quantum, most, and after how many milliseconds what is released
 * is looked after. `dispatch` lets go whose turn it is; `answer` writes what the script did and answers `first`, then
 * the envelopes that were released: id, text, id, text, …
 */
const DISPATCH = `
local window, usual, quantum = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local look = string.format('%.0f', now + ARGV[5])
local released, flights = {}, {}
local room = 0
local function measureRoom() room = math.min(window - redis.call('ZCARD', key('flight')), tonumber(ARGV[4])) end
local function release(tenant, id, text)
  room = room - 1
  tenant.flying = tenant.flying + 1
  flights[#flights + 1] = look
  flights[#flights + 1] = id
  released[#released + 1] = id
  released[#released + 1] = text
end
local function aloneOf(tenant) return math.min(tenant.cap or usual, math.ceil(window * ${ALONE_PART})) end
local function dispatch()
  local ringing = redis.call('LLEN', key('ring'))
  if ringing == 0 or room <= 0 then return end
  local weighted = redis.call('EXISTS', key('weight')) == 1
  local function weightOf(name)
    return weighted and tonumber(redis.call('HGET', key('weight'), name) or '1') or 1
  end
  local weights = ringing
  if weighted then
    weights = 0
    for _, name in ipairs(redis.call('LRANGE', key('ring'), 0, -1)) do weights = weights + weightOf(name) end
  end
  local function limitOf(tenant, weight)
    if ringing == 1 then return aloneOf(tenant) end
    local part = weight / weights
    part = part > 0.5 and math.min(1, 1.5 * part) or 0.5
    return math.min(tenant.cap or usual, math.max(1, math.floor(window * part)))
  end
  local before = redis.call('GET', key('turn'))
  local turn = before
  local passed, short, rounds = 0, {}, nil
  while room > 0 and ringing > 0 do
    if passed >= ringing then
      if not rounds then break end
      for _, name in ipairs(short) do
        local tenant = tenantOf(name)
        tenant.deficit = tenant.deficit + (rounds - 1) * quantum * weightOf(name)
      end
      passed, short, rounds = 0, {}, nil
    end
    local name = redis.call('LINDEX', key('ring'), 0)
    local tenant, weight, list = tenantOf(name), weightOf(name), key('list:' .. name)
    local free = limitOf(tenant, weight) - tenant.flying
    local id = redis.call('LINDEX', list, 0)
    local took = 0
    if free > 0 then
      if turn ~= name then
        tenant.deficit = tenant.deficit + quantum * weight
        turn = name
      end
      local cost = nil
      while id and room > 0 and took < free do
        local of = envelope(id)
        cost = of.cost
        if cost > tenant.deficit then break end
        tenant.deficit = tenant.deficit - cost
        tenant.waiting = tenant.waiting - 1
        tenant.bytes = tenant.bytes - of.bytes
        release(tenant, id, of.text)
        took = took + 1
        id = redis.call('LINDEX', list, took)
      end
      if took > 0 then redis.call('LPOP', list, took) end
      if id and room == 0 then break end
      if id and took < free then
        local needed = math.ceil((cost - tenant.deficit) / (quantum * weight))
        if not rounds or needed < rounds then rounds = needed end
        short[#short + 1] = name
      end
    end
    if took > 0 then passed, short, rounds = 0, {}, nil else passed = passed + 1 end
    turn = false
    if id then
      redis.call('LMOVE', key('ring'), key('ring'), 'LEFT', 'RIGHT')
    else
      redis.call('LPOP', key('ring'))
      tenant.deficit = 0
      weights = weights - weight
      ringing = ringing - 1
    end
  end
  if turn and turn ~= before then redis.call('SET', key('turn'), turn) end
  if before and not turn then redis.call('DEL', key('turn')) end
end
local function answer(first)
  many('ZADD', 'flight', flights)
  save()
  return { first, unpack(released) }
end
`;

/** The scripts of a lane. */
export const LANE_SCRIPTS = {
  /**
   * ARGV (dispatch), then for each job: id, envelope, and what its tenant may have at most: queued envelopes, queued bytes,
   * jobs in flight. Answers (dispatch) with, first, for each job 0, or the limit that refused it ('jobs' or 'bytes') and how
   * much of it is used. A known id changes nothing.
   */
  laneSubmit: {
    numberOfKeys: 1,
    lua: `${PRELUDE}${STATE}${DISPATCH}
measureRoom()
local idle = redis.call('EXISTS', key('ring')) == 0
local outcomes = {}
for at = 6, #ARGV, 5 do
  local id, of = ARGV[at], parse(ARGV[at + 1])
  local tenant = tenantOf(of.tenant)
  local full = tenant.waiting >= tonumber(ARGV[at + 2]) and { 'jobs', tenant.waiting }
    or tenant.bytes + of.bytes > tonumber(ARGV[at + 3]) and { 'bytes', tenant.bytes }
  if full and redis.call('HEXISTS', key('envelopes'), id) == 1 then full = false end
  outcomes[#outcomes + 1] = full or 0
  if not full and redis.call('HSETNX', key('envelopes'), id, of.text) == 1 then
    local most = tonumber(ARGV[at + 4])
    tenant.cap = most ~= usual and most or nil
    local free = not of.order or redis.call('HSETNX', key('holder'), of.order, id) == 1
    if free and idle and room > 0 and tenant.flying < aloneOf(tenant) then
      -- Nobody waits, so that it is this job's turn whatever it costs.
      release(tenant, id, of.text)
    else
      tenant.waiting = tenant.waiting + 1
      tenant.bytes = tenant.bytes + of.bytes
      if free then
        ready(of.tenant, id)
        idle = false
      else
        redis.call('RPUSH', key('order:' .. of.order), id)
      end
    end
  end
end
dispatch()
return answer(outcomes)`,
  },

  /** ARGV (dispatch). Answers (dispatch) with, first, 0. */
  laneDispatch: {
    numberOfKeys: 1,
    lua: `${PRELUDE}${STATE}${DISPATCH}
measureRoom()
dispatch()
return answer(0)`,
  },

  /**
   * ARGV (dispatch), ids. The jobs have ended, or will not run: their places are free. What is not in flight changes nothing.
   * Answers (dispatch) with, first, how many there were.
   */
  laneFinish: {
    numberOfKeys: 1,
    lua: `${PRELUDE}${STATE}${DISPATCH}
local over, seen = {}, {}
for at, flies in ipairs(redis.call('ZMSCORE', key('flight'), unpack(ARGV, 6))) do
  local id = ARGV[at + 5]
  if flies and not seen[id] then
    seen[id] = true
    over[#over + 1] = id
  end
end
if #over > 0 then
  local texts = redis.call('HMGET', key('envelopes'), unpack(over))
  redis.call('ZREM', key('flight'), unpack(over))
  redis.call('HDEL', key('envelopes'), unpack(over))
  for _, text in ipairs(texts) do
    if text then
      local of = parse(text)
      local tenant = tenantOf(of.tenant)
      tenant.flying = tenant.flying - 1
      passOn(of)
    end
  end
end
measureRoom()
dispatch()
return answer(#over)`,
  },

  /** ARGV id. Takes a queued job out. Answers 1 if it was queued. O(jobs of the tenant's list). */
  laneCancel: {
    numberOfKeys: 1,
    lua: `${PRELUDE}${STATE}
local id = ARGV[1]
local of = envelope(id)
if not of or redis.call('ZSCORE', key('flight'), id) then return 0 end
redis.call('HDEL', key('envelopes'), id)
local tenant = tenantOf(of.tenant)
tenant.waiting = tenant.waiting - 1
tenant.bytes = tenant.bytes - of.bytes
if of.order and redis.call('HGET', key('holder'), of.order) ~= id then
  redis.call('LREM', key('order:' .. of.order), 1, id)
else
  redis.call('LREM', key('list:' .. of.tenant), 1, id)
  if redis.call('LLEN', key('list:' .. of.tenant)) == 0 then
    redis.call('LREM', key('ring'), 1, of.tenant)
    tenant.deficit = 0
    if redis.call('GET', key('turn')) == of.tenant then redis.call('DEL', key('turn')) end
  end
  passOn(of)
end
save()
return 1`,
  },

  /** ARGV lostMs, most. Jobs in flight that are to be looked after now, and again in so long: id, text, id, text, … */
  laneLost: {
    numberOfKeys: 1,
    lua: `${PRELUDE}
local found = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', key('flight'), '-inf', now, 'LIMIT', 0, ARGV[2])) do
  redis.call('ZADD', key('flight'), 'XX', now + ARGV[1], id)
  found[#found + 1] = id
  found[#found + 1] = redis.call('HGET', key('envelopes'), id)
end
return found`,
  },

  /**
   * ARGV tenants. When the oldest envelope at the head of one of their lists was submitted; nil if none waits. The text is not
   * parsed: it may be large.
   */
  laneOldest: {
    numberOfKeys: 1,
    lua: `${PRELUDE}
local oldest = nil
for _, tenant in ipairs(redis.call('LRANGE', key('ring'), 0, ARGV[1] - 1)) do
  local id = redis.call('LINDEX', key('list:' .. tenant), 0)
  local text = id and redis.call('HGET', key('envelopes'), id)
  local since = tonumber(text and string.match(text, '^%d+') or nil)
  if since and (not oldest or since < oldest) then oldest = since end
end
return oldest and string.format('%.0f', oldest)`,
  },

  /** ARGV worker with its slots, ttlMs. It counts until then. */
  laneRegister: {
    numberOfKeys: 1,
    lua: `${PRELUDE}return redis.call('ZADD', key('workers'), now + ARGV[2], ARGV[1])`,
  },

  /** Forgets workers that are gone; answers the others. */
  laneWorkers: {
    numberOfKeys: 1,
    lua: `${PRELUDE}
redis.call('ZREMRANGEBYSCORE', key('workers'), '-inf', now)
return redis.call('ZRANGE', key('workers'), 0, -1)`,
  },
} as const;

export type LaneScript = keyof typeof LANE_SCRIPTS;
