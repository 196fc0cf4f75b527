-- ARGV: id, call; then of each kind (F, D or R), URL, outcome, reason or attempts, line, not before
if is_gone() then return 'gone' end
local call = P .. 'call:' .. ARGV[2]
local known = redis.call('GET', call)
if known then return cmsgpack.unpack(known) end
local stale, before = {}, {}
for at = 3, #ARGV, 5 do
    local kind, id, word, line, due = unpack(ARGV, at, at + 4)
    local url = redis.call('HGET', P .. 'url', id)
    if not url or redis.call('HEXISTS', P .. 'outcome', id) == 1 then
        stale[#stale + 1] = id
    elseif kind == 'R' then
        redis.call('HSET', P .. 'tries', id, word)
    else
        local scope = cmsgpack.unpack(url)[1]
        local key, was = P .. 's:' .. scope, redis.call('HGET', P .. 'due', id)
        if not before[scope] then before[scope] = deferred(scope) end
        redis.call('ZREM', P .. 'w:' .. scope, (was or FIRST) .. pad(id))
        redis.call('HSET', P .. 'line', id, line)
        if kind == 'F' then
            redis.call('HDEL', P .. 'due', id)
            redis.call('HDEL', P .. 'why', id)
            redis.call('HSET', P .. 'outcome', id, word)
            redis.call('HINCRBY', key, 'waiting', -1)
            redis.call('HINCRBY', key, '=' .. word, 1)
            count('waiting', -1)
            count('=' .. word, 1)
            if was then redis.call('HINCRBY', key, 'deferred', -1) end
        else
            redis.call('HSET', P .. 'due', id, due)
            redis.call('HSET', P .. 'why', id, word)
            redis.call('ZADD', P .. 'w:' .. scope, 0, due .. pad(id))
            if not was then redis.call('HINCRBY', key, 'deferred', 1) end
        end
    end
end
for scope, was in pairs(before) do
    count('deferred', deferred(scope) - was)
    refresh(scope)
end
redis.call('SET', call, cmsgpack.pack(stale), 'PX', REMEMBERED_MS)
if wakes or redis.call('HGET', P .. 'job', 'waiting') == '0' then wake() end
return stale
