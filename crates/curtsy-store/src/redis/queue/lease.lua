-- ARGV: id, call, worker, how many scopes, page, until, now
if is_gone() then return 'gone' end
local call, worker, number, size, until_, now =
    P .. 'call:' .. ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6], ARGV[7]
local known = redis.call('GET', call)
local leased = {}
if known then
    leased = cmsgpack.unpack(known)
else
    for _, member in ipairs(redis.call('ZRANGEBYLEX', P .. 'leased', '-', '[' .. now .. LAST)) do
        free(string.format('%.0f', tonumber(string.sub(member, 21))))
    end
    local due = redis.call('ZRANGEBYLEX', P .. 'ready', '-', '[' .. now .. LAST, 'LIMIT', 0, number)
    for at, member in ipairs(due) do
        local scope = string.format('%.0f', tonumber(string.sub(member, 21)))
        local key, before = P .. 's:' .. scope, deferred(scope)
        local token = string.format('%.0f', redis.call('HINCRBY', P .. 'job', 'token', 1))
        redis.call('HSET', key, 'token', token, 'worker', worker, 'until', until_)
        redis.call('HDEL', key, 'parked')
        redis.call('ZADD', P .. 'leased', 0, until_ .. pad(scope))
        count('leased', 1)
        count('deferred', deferred(scope) - before)
        refresh(scope)
        leased[at] = {scope, token}
    end
    if #leased > 0 then redis.call('SET', call, cmsgpack.pack(leased), 'PX', REMEMBERED_MS) end
end
local answer = {}
for _, of in ipairs(leased) do
    local key = P .. 's:' .. of[1]
    -- Of a call that is repeated some may be over.
    if redis.call('HGET', key, 'token') == of[2] then
        local name, urls = redis.call('HGET', key, 'name'), page(of[1], size, FIRST, FIRST .. LAST, now)
        answer[#answer + 1] = {name, of[2], urls}
    end
end
return answer
