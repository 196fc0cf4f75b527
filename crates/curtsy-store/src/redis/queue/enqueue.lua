-- ARGV: id, call; then of each URL digest, scope, url, out, headers
if is_gone() then return 'gone' end
local call = P .. 'call:' .. ARGV[2]
local known = redis.call('GET', call)
if known then return {known, tostring((#ARGV - 2) / 5 - known)} end
local added, touched = 0, {}
for at = 3, #ARGV, 5 do
    local digest, name = ARGV[at], ARGV[at + 1]
    local id = string.format('%.0f', redis.call('HGET', P .. 'job', 'next') or 0)
    id = string.format('%.0f', id + 1)
    if redis.call('HSETNX', P .. 'key', digest, id) == 1 then
        redis.call('HSET', P .. 'job', 'next', id)
        local scope = redis.call('HGET', P .. 'scope', name)
        if not scope then
            scope = string.format('%.0f', redis.call('HINCRBY', P .. 'job', 'scopes', 1))
            redis.call('HSET', P .. 'scope', name, scope)
            redis.call('ZADD', P .. 'names', 0, name)
            redis.call('HSET', P .. 's:' .. scope, 'name', name)
        end
        if not touched[scope] then touched[scope] = {deferred(scope), 0} end
        touched[scope][2] = touched[scope][2] + 1
        -- The first byte says whether there is one.
        local out, headers = ARGV[at + 3], ARGV[at + 4]
        redis.call('HSET', P .. 'url', id, cmsgpack.pack({scope, ARGV[at + 2], out, headers}))
        redis.call('ZADD', P .. 'w:' .. scope, 0, FIRST .. pad(id))
        added = added + 1
    end
end
for scope, of in pairs(touched) do
    redis.call('HINCRBY', P .. 's:' .. scope, 'waiting', of[2])
    count('deferred', deferred(scope) - of[1])
    refresh(scope)
end
count('waiting', added)
redis.call('SET', call, added, 'PX', REMEMBERED_MS)
if wakes then wake() end
return {tostring(added), tostring((#ARGV - 2) / 5 - added)}
