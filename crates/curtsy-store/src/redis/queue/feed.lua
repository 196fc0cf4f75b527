-- ARGV: id, worker, until (empty: no longer)
if is_gone() then return 'gone' end
local was = redis.call('HGET', P .. 'feeders', ARGV[2])
if was then redis.call('ZREM', P .. 'feeding', was .. ARGV[2]) end
if ARGV[3] ~= '' then
    redis.call('HSET', P .. 'feeders', ARGV[2], ARGV[3])
    redis.call('ZADD', P .. 'feeding', 0, ARGV[3] .. ARGV[2])
else
    redis.call('HDEL', P .. 'feeders', ARGV[2])
    -- Who waits for the last feeder has nothing else to wait for.
    wake()
end
return 0
