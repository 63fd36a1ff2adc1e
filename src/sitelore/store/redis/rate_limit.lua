-- Takes one request out of each of several token buckets, or out of none if one is empty.
--
-- KEYS: the buckets   ARGV: the capacity and the refill rate (requests per second) of each in turn
-- Returns: the level of each bucket before the request, as text; the request was accepted when none is below 1.

local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local levels, accepted = {}, true
for i, key in ipairs(KEYS) do
  local capacity, rate = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  local stored = redis.call('HMGET', key, 'level', 'at')
  local level = capacity
  if stored[1] then level = math.min(capacity, tonumber(stored[1]) + math.max(0, now - tonumber(stored[2])) * rate) end
  levels[i] = level
  if level < 1 then accepted = false end
end
local texts = {}
for i, key in ipairs(KEYS) do
  local capacity, rate = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  local left = accepted and levels[i] - 1 or levels[i]
  redis.call('HSET', key, 'level', string.format('%.6f', left), 'at', string.format('%.6f', now))
  -- A bucket that is full again equals one that does not exist.
  redis.call('EXPIRE', key, math.ceil(capacity / rate) + 1)
  texts[i] = string.format('%.6f', levels[i])
end
return texts
