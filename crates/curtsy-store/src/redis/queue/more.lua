-- ARGV: id, scope, token, page, the last fresh URL, the last deferred one, now
if is_gone() then return 'gone' end
local scope = held(ARGV[2], ARGV[3])
if not scope then return 'lost' end
return page(scope, tonumber(ARGV[4]), ARGV[5], ARGV[6], ARGV[7])
