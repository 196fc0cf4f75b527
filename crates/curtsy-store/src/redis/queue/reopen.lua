-- ARGV: id, from URL, to URL; then the outcomes
if is_gone() then return 'gone' end
local wanted, before, reopened = {}, {}, 0
for at = 4, #ARGV do wanted[ARGV[at]] = true end
for number = tonumber(ARGV[2]), tonumber(ARGV[3]) do
    local id = string.format('%.0f', number)
    local outcome = redis.call('HGET', P .. 'outcome', id)
    if outcome and wanted[outcome] then
        local scope = cmsgpack.unpack(redis.call('HGET', P .. 'url', id))[1]
        local key = P .. 's:' .. scope
        if not before[scope] then before[scope] = deferred(scope) end
        redis.call('HDEL', P .. 'outcome', id)
        redis.call('HDEL', P .. 'tries', id)
        redis.call('ZADD', P .. 'w:' .. scope, 0, FIRST .. pad(id))
        redis.call('HINCRBY', key, 'waiting', 1)
        redis.call('HINCRBY', key, '=' .. outcome, -1)
        count('waiting', 1)
        count('=' .. outcome, -1)
        reopened = reopened + 1
    end
end
for scope, was in pairs(before) do
    count('deferred', deferred(scope) - was)
    refresh(scope)
end
if wakes then wake() end
return {redis.call('HGET', P .. 'job', 'next') or '0', tostring(reopened)}
