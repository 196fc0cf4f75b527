-- ARGV: id, question; then what it is about
if is_gone() then return 'gone' end
local question = ARGV[2]
if question == 'due' then
    return {
        redis.call('ZRANGEBYLEX', P .. 'ready', '-', '+', 'LIMIT', 0, 1)[1] or false,
        redis.call('ZRANGEBYLEX', P .. 'leased', '-', '+', 'LIMIT', 0, 1)[1] or false,
    }
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
