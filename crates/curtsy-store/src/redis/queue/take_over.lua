-- ARGV: id, worker
if is_gone() then return 'gone' end
local ended = 0
for _, member in ipairs(redis.call('ZRANGEBYLEX', P .. 'leased', '-', '+')) do
    local scope = string.format('%.0f', tonumber(string.sub(member, 21)))
    if redis.call('HGET', P .. 's:' .. scope, 'worker') == ARGV[2] then
        free(scope)
        ended = ended + 1
    end
end
if wakes then wake() end
return ended
