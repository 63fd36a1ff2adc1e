-- One atomic step of a host's rate limit. The rules are those of `frontier/gate.py`; the constants are prepended.
--
-- KEYS: 1 the host's record, 2 its slots (slot -> expiry), 3 when this Redis began to keep rate limits
-- ARGV: 1 the command: enter, sent, leave, delay, hold
--       2 the caller's slot   3 lifetime of a slot unless it is renewed   4 the fixed gap, or -1 when it adapts
--       5 maximum number of slots
--       what the caller knows and Redis may have lost: 6 seconds since its last request, or -1   7 seconds the host is closed for
--       8 the Crawl-delay of the host   9 the caller's other slots, joined by spaces
--       10.. of leave: elapsed, status or 0, strained (1) or not (0), Retry-After or -1, the longest Retry-After that is obeyed
-- Returns: seconds to wait (0: go), seconds until the host is open again, the gap between requests.

local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local command, slot, slot_s, fixed = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

local record = {}
local flat = redis.call('HGETALL', KEYS[1])
for i = 1, #flat, 2 do record[flat[i]] = flat[i + 1] end
local function number(name) return tonumber(record[name]) end

local last = number('last')
if not last then
  -- A new host, or its record was lost. Redis may have been emptied right after a request, so the first request waits its gap.
  last = tonumber(redis.call('GET', KEYS[3]))
  if not last then
    last = now
    redis.call('SET', KEYS[3], string.format('%.6f', now))
  end
end
local since = tonumber(ARGV[6])
if since >= 0 then last = math.max(last, now - since) end
local closed_until = math.max(number('closed_until') or 0, now + tonumber(ARGV[7]))
local crawl_delay = math.max(number('asked') or 0, tonumber(ARGV[8]))
local latency, cooldown = number('latency'), number('cooldown') or 0
local closed_at, streak = number('closed_at') or 0, number('streak') or 0
local leaving, leaving_until = record.leaving or '', number('leaving_until') or 0

local function gap_s()
  local gap = fixed
  if gap < 0 then gap = math.min(math.max((latency or 0) * LATENCY_SHARE, SHORTEST_GAP_S), LONGEST_GAP_S) end
  return math.max(gap, crawl_delay)
end

local function hold(which) redis.call('ZADD', KEYS[2], string.format('%.6f', now + slot_s), which) end

for other in string.gmatch(ARGV[9], '%S+') do hold(other) end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('(%.6f', now))

local function cool_down(elapsed)
  if now - elapsed >= closed_at then
    cooldown = math.min(math.max(cooldown * 2, FIRST_COOLDOWN_S), LONGEST_COOLDOWN_S)
    closed_at = now
  end
  closed_until = math.max(closed_until, now + cooldown)
end

local function judge(elapsed, status, strained, retry_after, longest)
  local busy = status == 408 or status == 429 or status == 503
  if retry_after >= 0 and retry_after < IGNORED_RETRY_AFTER_S and (busy or (status >= 300 and status < 400)) then
    closed_at = now
    closed_until = math.max(closed_until, now + math.min(retry_after, longest))
  elseif busy or strained then
    cool_down(elapsed)
  elseif status == 403 or status >= 500 then
    streak = streak + 1
    if streak >= STREAK then
      streak = 0
      cool_down(elapsed)
    end
  elseif status > 0 then
    streak = 0
    cooldown = cooldown / 2
    if cooldown < FIRST_COOLDOWN_S / 2 then cooldown = 0 end
  end
end

local wait = 0
if command == 'enter' then
  local gap = gap_s()
  local opens = math.max(last + gap, closed_until)
  if opens > now then
    wait = math.max(opens - now, SHORTEST_WAIT_S)
  elseif gap > 0 and leaving ~= '' and leaving_until > now and leaving ~= slot then
    -- Another request has a permission and was not sent yet; the gap counts from its sending.
    wait = gap
  else
    local running = redis.call('ZCARD', KEYS[2])
    if running >= tonumber(ARGV[5]) then
      wait = math.min(math.max((latency or 0) / running, MIN_SLOT_WAIT_S), MAX_SLOT_WAIT_S)
    else
      hold(slot)
      last = now
      if gap > 0 then leaving, leaving_until = slot, now + slot_s end
    end
  end
elseif command == 'sent' then
  last = now
  if leaving == slot then leaving = '' end
elseif command == 'leave' then
  redis.call('ZREM', KEYS[2], slot)
  if leaving == slot then leaving = '' end
  local elapsed, status = tonumber(ARGV[10]), tonumber(ARGV[11])
  if status > 0 then
    if latency then latency = latency + LATENCY_WEIGHT * (elapsed - latency) else latency = elapsed end
  end
  judge(elapsed, status, ARGV[12] == '1', tonumber(ARGV[13]), tonumber(ARGV[14]))
elseif command == 'delay' then
  crawl_delay = tonumber(ARGV[8])
end

local function text(value) return string.format('%.6f', value) end
redis.call('HSET', KEYS[1], 'last', text(last), 'closed_until', text(closed_until), 'asked', text(crawl_delay),
  'cooldown', text(cooldown), 'closed_at', text(closed_at), 'streak', streak, 'leaving', leaving,
  'leaving_until', text(leaving_until))
if latency then redis.call('HSET', KEYS[1], 'latency', text(latency)) end
redis.call('EXPIRE', KEYS[1], math.ceil(HOST_TTL_S + math.max(closed_until - now, 0)))
redis.call('EXPIRE', KEYS[2], math.ceil(slot_s) + 1)
local gap = gap_s()
return {text(wait), text(math.max(math.max(last + gap, closed_until) - now, 0)), text(gap)}
