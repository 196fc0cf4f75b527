-- ARGV: id; then of each lease scope, token, not before (empty: as it was), why it is parked (empty: it is not)
if is_gone() then return 'gone' end
for at = 2, #ARGV, 4 do
    local scope = held(ARGV[at], ARGV[at + 1])
    if scope then
        local key, before, parked = P .. 's:' .. scope, ARGV[at + 2], ARGV[at + 3]
        local was = deferred(scope)
        if before ~= '' then redis.call('HSET', key, 'before', before) end
        if parked ~= '' then redis.call('HSET', key, 'parked', parked) end
        count('deferred', deferred(scope) - was)
        free(scope)
    end
end
-- Who waits for the end of the last lease has nothing else to wait for.
if wakes or redis.call('HGET', P .. 'job', 'leased') == '0' then wake() end
return 0
