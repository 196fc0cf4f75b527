redis.call('HSETNX', P .. 'job', 'id', ARGV[1])
return redis.call('HGET', P .. 'job', 'id')
