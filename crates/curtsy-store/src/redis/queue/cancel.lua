-- Forgets the job. Who works on it finds another identity, or none.
if redis.call('EXISTS', P .. 'job') == 0 then return 0 end
for number = 1, tonumber(redis.call('HGET', P .. 'job', 'scopes') or 0) do
    local scope = string.format('%.0f', number)
    redis.call('UNLINK', P .. 's:' .. scope, P .. 'w:' .. scope)
end
for _, name in ipairs({
    'job', 'key', 'url', 'tries', 'line', 'due', 'why', 'outcome', 'scope', 'names', 'ready', 'leased', 'feeding', 'feeders',
    'meta',
}) do
    redis.call('UNLINK', P .. name)
end
wake()
return 1
