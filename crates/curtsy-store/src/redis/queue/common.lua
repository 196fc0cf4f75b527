-- What the scripts of the queue share. All keys of a job begin with KEYS[1]; ARGV[1] is the job's identity.
--
--   job      hash   id; next: last URL; scopes: last scope; token: last lease; waiting, deferred, leased: how
--                   many; =OUTCOME: how many have ended so
--   key      hash   digest of a URL's key -> URL
--   url      hash   URL -> scope, url, out, headers, packed
--   tries, line, due, why, outcome
--            hash   URL -> of those that have one
--   scope    hash   name -> scope;  names: sorted set of the names
--   s:SCOPE  hash   name; waiting, deferred, =OUTCOME: how many; before, parked; token, worker, until of its
--                   lease; ready: its member there
--   w:SCOPE  sorted set of what waits: when it is due, URL
--   ready    sorted set of scopes that nobody has and that have something waiting: when it is due, scope
--   leased   sorted set of leases: until when, scope
--   feeding  sorted set of those who add URLs: until when, worker;  feeders: worker -> until when
--   meta     hash   small values
--   call:ID  the answer of a call that may be repeated
--
-- Numbers and instants are texts of 20 digits, which sort as they count. Members all have the score 0.
local P = KEYS[1]
local FIRST, LAST = string.rep('0', 20), string.rep('9', 20)
local REMEMBERED_MS = '600000'
local wakes = false

local function pad(number) return string.format('%020.0f', number) end
local function later(one, other) if one > other then return one end return other end
local function count(field, by)
    if by ~= 0 then redis.call('HINCRBY', P .. 'job', field, by) end
end
local function is_gone() return redis.call('HGET', P .. 'job', 'id') ~= ARGV[1] end

-- How many of a scope's URLs count as deferred.
local function deferred(scope)
    local of = redis.call('HMGET', P .. 's:' .. scope, 'parked', 'waiting', 'deferred')
    if of[1] then return tonumber(of[2] or 0) end
    return tonumber(of[3] or 0)
end

-- Puts a scope where it belongs among those that are ready, or takes it out.
local function refresh(scope)
    local key = P .. 's:' .. scope
    local of = redis.call('HMGET', key, 'before', 'token', 'ready')
    local ready = false
    if not of[2] then
        local first = redis.call('ZRANGEBYLEX', P .. 'w:' .. scope, '-', '+', 'LIMIT', 0, 1)[1]
        if first then ready = later(of[1] or FIRST, string.sub(first, 1, 20)) .. pad(scope) end
    end
    if ready == of[3] then return end
    if of[3] then redis.call('ZREM', P .. 'ready', of[3]) end
    if ready then
        redis.call('ZADD', P .. 'ready', 0, ready)
        redis.call('HSET', key, 'ready', ready)
        wakes = true
    else
        redis.call('HDEL', key, 'ready')
    end
end

-- Ends a scope's lease.
local function free(scope)
    local key = P .. 's:' .. scope
    redis.call('ZREM', P .. 'leased', redis.call('HGET', key, 'until') .. pad(scope))
    redis.call('HDEL', key, 'token', 'worker', 'until')
    count('leased', -1)
    refresh(scope)
end

-- The scope that a lease is of, while it lasts.
local function held(name, token)
    local scope = redis.call('HGET', P .. 'scope', name)
    if scope and redis.call('HGET', P .. 's:' .. scope, 'token') == token then return scope end
end

-- The next URLs of a scope: what was never deferred after URL `fresh`, then what is due after `behind`.
local function page(scope, number, fresh, behind, now)
    local waiting = P .. 'w:' .. scope
    local members = redis.call('ZRANGEBYLEX', waiting, '(' .. FIRST .. fresh, '[' .. FIRST .. LAST,
        'LIMIT', 0, number)
    local room = number - #members
    if room > 0 then
        local due = redis.call('ZRANGEBYLEX', waiting, '(' .. behind, '[' .. now .. LAST, 'LIMIT', 0, room)
        for _, member in ipairs(due) do members[#members + 1] = member end
    end
    local urls = {}
    for at, member in ipairs(members) do
        local id = string.format('%.0f', tonumber(string.sub(member, 21)))
        local url = cmsgpack.unpack(redis.call('HGET', P .. 'url', id))
        urls[at] = {
            member, url[2], url[3], url[4],
            redis.call('HGET', P .. 'tries', id) or '0',
            redis.call('HGET', P .. 'line', id),
        }
    end
    return urls
end

local function wake() redis.call('PUBLISH', P .. 'wake', '') end
