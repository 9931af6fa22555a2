/**
 * Admission of one lane: whose job goes next. Every transition is one script.
 *
 *   (none) --submit--> queued --dispatch--> released --sweep: added again--> active
 *                        |  \--cancel--> (none)   \--finish--> (none) <--finish--/
 *                        \-- waits behind its ordering key until the job before it is finished or cancelled
 *
 * A finish that got lost is made up for by a sweep too, which looks after jobs that are in flight for long.
 *
 * - *queued*: the envelope is in its tenant's list, or, while another job of its ordering key is ahead, in the list of that
 *   key. At most one job of a key is in a tenant's list or in flight, so that the list never blocks and the key keeps its order.
 * - *released*: given to one process to add to its queue; that process may die, so what was released some seconds ago is
 *   added again by a sweep, once (adding the same job twice is one job).
 * - *in flight* = released or active: bounded by the lane's window, which is twice what the workers run at once. A tenant
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
 *   envelopes            hash: id -> JSON {a: when submitted, t: tenant, c: cost, b: bytes, o: ordering key, d: data}
 *   waiting, bytes       hashes: tenant -> queued envelopes, and their bytes
 *   flying               hash: tenant -> jobs in flight
 *   deficit, weight      hashes: tenant -> tokens, tenant -> weight (1 when absent)
 *   cap                  hash: tenant -> jobs that it may have in flight (what the caller says when absent)
 *   workers              sorted set: worker and its slots by when it no longer counts
 *   flight               sorted set: ids in flight by when they were released or last looked after
 *   released             sorted set: those of them that no process is known to have added
 */
const PRELUDE = `
local tag = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function key(name) return tag .. ':' .. name end
local function add(name, tenant, by)
  if redis.call('HINCRBY', key(name), tenant, by) <= 0 then redis.call('HDEL', key(name), tenant) end
end
local function envelope(id)
  local text = redis.call('HGET', key('envelopes'), id)
  return text and cjson.decode(text)
end
local function ready(tenant, id)
  if redis.call('RPUSH', key('list:' .. tenant), id) == 1 then redis.call('RPUSH', key('ring'), tenant) end
end
local function leaveRing(tenant)
  redis.call('LREM', key('ring'), 1, tenant)
  redis.call('HDEL', key('deficit'), tenant)
  if redis.call('GET', key('turn')) == tenant then redis.call('DEL', key('turn')) end
end
local function passOn(of)
  if not of.o then return end
  local following = redis.call('LPOP', key('order:' .. of.o))
  if not following then redis.call('HDEL', key('holder'), of.o) return end
  redis.call('HSET', key('holder'), of.o, following)
  ready(envelope(following).t, following)
end
local weighted = nil
local function weightOf(tenant)
  if weighted == nil then weighted = redis.call('EXISTS', key('weight')) == 1 end
  return weighted and tonumber(redis.call('HGET', key('weight'), tenant) or '1') or 1
end
local function capOf(tenant, usual) return tonumber(redis.call('HGET', key('cap'), tenant) or usual) end
`;

/** Of the window, what a tenant has at most while nobody else waits. */
const ALONE_PART = 0.65;

/** Needs `window`, `cap`, `quantum`, `most`. Answers the envelopes that were released, as id, data, id, data, … */
const DISPATCH = `
local function aloneOf(cap) return math.min(cap, math.ceil(window * ${ALONE_PART})) end
local function dispatch()
  local tenants = redis.call('LLEN', key('ring'))
  if tenants == 0 then return {} end
  local room = math.min(window - redis.call('ZCARD', key('flight')), most)
  if room <= 0 then return {} end
  local released, flights = {}, {}
  local weights = 0
  for _, tenant in ipairs(redis.call('LRANGE', key('ring'), 0, -1)) do weights = weights + weightOf(tenant) end
  local before = redis.call('GET', key('turn'))
  local turn = before
  local function limitOf(tenant)
    local cap = capOf(tenant, cap)
    if tenants == 1 then return aloneOf(cap) end
    local part = weightOf(tenant) / weights
    part = part > 0.5 and math.min(1, 1.5 * part) or 0.5
    return math.min(cap, math.max(1, math.floor(window * part)))
  end
  local passed, short, rounds = 0, {}, nil
  while room > 0 and tenants > 0 do
    if passed >= tenants then
      if not rounds then break end
      for _, tenant in ipairs(short) do
        redis.call('HINCRBYFLOAT', key('deficit'), tenant, (rounds - 1) * quantum * weightOf(tenant))
      end
      passed, short, rounds = 0, {}, nil
    end
    local tenant = redis.call('LINDEX', key('ring'), 0)
    local list = key('list:' .. tenant)
    local free = limitOf(tenant) - tonumber(redis.call('HGET', key('flying'), tenant) or '0')
    local id = redis.call('LINDEX', list, 0)
    local took, bytes = 0, 0
    if free > 0 then
      local deficit = tonumber(redis.call('HGET', key('deficit'), tenant) or '0')
      if turn ~= tenant then
        deficit = deficit + quantum * weightOf(tenant)
        turn = tenant
      end
      local cost = nil
      while id and room > 0 and took < free do
        local of = envelope(id)
        cost = of.c
        if cost > deficit then break end
        deficit = deficit - cost
        bytes = bytes + of.b
        flights[#flights + 1] = now
        flights[#flights + 1] = id
        released[#released + 1] = id
        released[#released + 1] = of.d
        took = took + 1
        room = room - 1
        id = redis.call('LINDEX', list, took)
      end
      if took > 0 then
        redis.call('LPOP', list, took)
        add('waiting', tenant, -took)
        add('bytes', tenant, -bytes)
        redis.call('HINCRBY', key('flying'), tenant, took)
      end
      redis.call('HSET', key('deficit'), tenant, tostring(deficit))
      if id and room == 0 then break end
      if id and took < free then
        local needed = math.ceil((cost - deficit) / (quantum * weightOf(tenant)))
        if not rounds or needed < rounds then rounds = needed end
        short[#short + 1] = tenant
      end
    end
    if took > 0 then passed, short, rounds = 0, {}, nil else passed = passed + 1 end
    turn = false
    if id then
      redis.call('LMOVE', key('ring'), key('ring'), 'LEFT', 'RIGHT')
    else
      weights = weights - weightOf(tenant)
      tenants = tenants - 1
      leaveRing(tenant)
    end
  end
  if not turn then redis.call('DEL', key('turn')) elseif turn ~= before then redis.call('SET', key('turn'), turn) end
  if #flights > 0 then
    redis.call('ZADD', key('flight'), unpack(flights))
    redis.call('ZADD', key('released'), unpack(flights))
  end
  return released
end
`;

const LIMITS_FROM = (first: number): string => `
local window, cap, quantum, most = ${[0, 1, 2, 3].map((index) => `tonumber(ARGV[${first + index}])`).join(", ")}
`;

/** ARGV of every script that dispatches begin with window, cap, quantum, most. */
export const LANE_SCRIPTS = {
  /**
   * ARGV (dispatch), id, envelope, and what the tenant may have at most: queued envelopes, queued bytes, jobs in flight.
   * Answers 'known'; or the limit that refused it ('jobs' or 'bytes') and how much of it is used; or 'ok' and what was released.
   */
  laneSubmit: {
    numberOfKeys: 1,
    lua: `${PRELUDE}${LIMITS_FROM(1)}${DISPATCH}
local id = ARGV[5]
if redis.call('HEXISTS', key('envelopes'), id) == 1 then return { 'known' } end
local of = cjson.decode(ARGV[6])
local waiting, bytes = redis.call('HGET', key('waiting'), of.t) or '0', redis.call('HGET', key('bytes'), of.t) or '0'
if tonumber(waiting) >= tonumber(ARGV[7]) then return { 'jobs', waiting } end
if tonumber(bytes) + of.b > tonumber(ARGV[8]) then return { 'bytes', bytes } end
if tonumber(ARGV[9]) == cap then redis.call('HDEL', key('cap'), of.t)
else redis.call('HSET', key('cap'), of.t, ARGV[9]) end
local free = not of.o or redis.call('HSETNX', key('holder'), of.o, id) == 1
redis.call('HSET', key('envelopes'), id, ARGV[6])
if free and redis.call('EXISTS', key('ring')) == 0 and redis.call('ZCARD', key('flight')) < window
  and tonumber(redis.call('HGET', key('flying'), of.t) or '0') < aloneOf(tonumber(ARGV[9])) then
  -- Nobody waits, so that it is this job's turn whatever it costs.
  redis.call('ZADD', key('flight'), now, id)
  redis.call('ZADD', key('released'), now, id)
  redis.call('HINCRBY', key('flying'), of.t, 1)
  return { 'ok', id, of.d }
end
redis.call('HINCRBY', key('waiting'), of.t, 1)
redis.call('HINCRBY', key('bytes'), of.t, of.b)
if free then ready(of.t, id) else redis.call('RPUSH', key('order:' .. of.o), id) end
return { 'ok', unpack(dispatch()) }`,
  },

  /** ARGV (dispatch). Answers what was released. */
  laneDispatch: { numberOfKeys: 1, lua: `${PRELUDE}${LIMITS_FROM(1)}${DISPATCH}return dispatch()` },

  /** ARGV (dispatch), ids. The jobs have ended, or will not run: their places are free. Answers what was released. */
  laneFinish: {
    numberOfKeys: 1,
    lua: `${PRELUDE}${LIMITS_FROM(1)}${DISPATCH}
for at = 5, #ARGV do
  local id = ARGV[at]
  if redis.call('ZREM', key('flight'), id) == 1 then
    local of = envelope(id)
    redis.call('ZREM', key('released'), id)
    redis.call('HDEL', key('envelopes'), id)
    add('flying', of.t, -1)
    passOn(of)
  end
end
return dispatch()`,
  },

  /** ARGV id. Takes a queued job out. Answers 1 if it was queued. O(jobs of the tenant's list). */
  laneCancel: {
    numberOfKeys: 1,
    lua: `${PRELUDE}
local id = ARGV[1]
local of = envelope(id)
if not of or redis.call('ZSCORE', key('flight'), id) then return 0 end
redis.call('HDEL', key('envelopes'), id)
add('waiting', of.t, -1)
add('bytes', of.t, -of.b)
if of.o and redis.call('HGET', key('holder'), of.o) ~= id then
  redis.call('LREM', key('order:' .. of.o), 1, id)
  return 1
end
redis.call('LREM', key('list:' .. of.t), 1, id)
if redis.call('LLEN', key('list:' .. of.t)) == 0 then leaveRing(of.t) end
passOn(of)
return 1`,
  },

  /**
   * ARGV resendMs, most. Released jobs that nobody is known to have added, which are taken to be added by the
   * caller now: id, data, id, data, …
   */
  laneSweep: {
    numberOfKeys: 1,
    lua: `${PRELUDE}
local found = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', key('released'), '-inf', now - ARGV[1], 'LIMIT', 0, ARGV[2])) do
  redis.call('ZADD', key('released'), 'XX', now, id)
  found[#found + 1] = id
  found[#found + 1] = envelope(id).d
end
return found`,
  },

  /** ARGV lostMs, most. Jobs in flight for so long that their ends may have been lost; looked after from now. */
  laneLost: {
    numberOfKeys: 1,
    lua: `${PRELUDE}
local found = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', key('flight'), '-inf', now - ARGV[1], 'LIMIT', 0, ARGV[2])) do
  redis.call('ZADD', key('flight'), 'XX', now, id)
  found[#found + 1] = id
  found[#found + 1] = envelope(id).d
end
return found`,
  },

  /**
   * ARGV tenants. When the oldest envelope at the head of one of their lists was submitted; nil if none waits. Envelopes are
   * large: the time, which comes first, is read out of their text.
   */
  laneOldest: {
    numberOfKeys: 1,
    lua: `${PRELUDE}
local oldest = nil
for _, tenant in ipairs(redis.call('LRANGE', key('ring'), 0, ARGV[1] - 1)) do
  local id = redis.call('LINDEX', key('list:' .. tenant), 0)
  local text = id and redis.call('HGET', key('envelopes'), id)
  local since = tonumber(text and string.match(text, '^{"a":(%d+)') or nil)
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
