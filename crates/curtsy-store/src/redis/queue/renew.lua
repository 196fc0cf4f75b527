-- ARGV: id, until; then of each lease scope, token
if is_gone() then return 'gone' end
local lost = {}
for at = 3, #ARGV, 2 do
    local scope = held(ARGV[at], ARGV[at + 1])
    if scope then
        local key = P .. 's:' .. scope
        redis.call('ZREM', P .. 'leased', redis.call('HGET', key, 'until') .. pad(scope))
        redis.call('ZADD', P .. 'leased', 0, ARGV[2] .. pad(scope))
        redis.call('HSET', key, 'until', ARGV[2])
    else
        lost[#lost + 1] = ARGV[at + 1]
    end
end
return lost
