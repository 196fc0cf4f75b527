-- ARGV: id, question; then what it is about
if is_gone() then return 'gone' end
local question = ARGV[2]
if question == 'due' then
    local function first(set, from)
        local member = redis.call('ZRANGEBYLEX', P .. set, from, '+', 'LIMIT', 0, 1)[1]
        return member and string.sub(member, 1, 20)
    end
    -- A feeder that died says nothing more.
    local now = redis.call('TIME')
    local feeding = first('feeding', '[' .. string.format('%014d%06d', now[1], now[2]))
    return {first('ready', '-') or false, first('leased', '-') or false, feeding or false}
elseif question == 'counts' then
    return redis.call('HGETALL', P .. 'job')
elseif question == 'scopes' then
    local from = '-'
    if ARGV[3] ~= '' then from = '(' .. ARGV[3] end
    local scopes = {}
    for at, name in ipairs(redis.call('ZRANGEBYLEX', P .. 'names', from, '+', 'LIMIT', 0, ARGV[4])) do
        scopes[at] = redis.call('HGETALL', P .. 's:' .. redis.call('HGET', P .. 'scope', name))
    end
    return scopes
elseif question == 'records' then
    local records = {}
    for number = tonumber(ARGV[3]), tonumber(ARGV[4]) do
        local id = string.format('%.0f', number)
        local packed = redis.call('HGET', P .. 'url', id)
        if not packed then break end
        local url = cmsgpack.unpack(packed)
        local scope = redis.call('HMGET', P .. 's:' .. url[1], 'name', 'before', 'parked')
        records[#records + 1] = {
            scope[1], scope[2], scope[3], url[2], url[3],
            redis.call('HGET', P .. 'tries', id) or '0',
            redis.call('HGET', P .. 'line', id),
            redis.call('HGET', P .. 'outcome', id),
            redis.call('HGET', P .. 'due', id),
            redis.call('HGET', P .. 'why', id),
        }
    end
    return records
end
return {redis.call('HGET', P .. 'meta', ARGV[3])}
