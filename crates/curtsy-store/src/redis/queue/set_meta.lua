-- ARGV: id; then names and values
if is_gone() then return 'gone' end
for at = 2, #ARGV, 2 do redis.call('HSET', P .. 'meta', ARGV[at], ARGV[at + 1]) end
return 0
