-- One host's gate, one atomic step. The rules are those of `frontier/gate.py`; the numbers come with every call.
--
-- KEYS: 1 the host's record, 2 its slots (slot -> when it runs out), 3 when this Redis began to keep gates
-- ARGV: 1 what is asked: enter, sent, leave, delay, hold
--       2 our slot   3 how long a slot lasts unless it is held   4 the fixed gap, or -1 where it adapts
--       5 slots in all
--       what we know of the host and Redis may have lost: 6 seconds since our last request, or -1   7 seconds it is closed for
--       8 the gap it asked for   9 our other slots, joined by spaces
--       10.. of leave: elapsed, status or 0, strained (1) or not (0), Retry-After or -1, the longest that is waited for
-- Answers: how long to wait (0: go), seconds until the host may be asked again, the gap.

local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local what, slot, slot_s, fixed = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

local record = {}
local flat = redis.call('HGETALL', KEYS[1])
for i = 1, #flat, 2 do record[flat[i]] = flat[i + 1] end
local function number(name) return tonumber(record[name]) end

local last = number('last')
if not last then
  -- Not known: new, or lost with everything else. Redis may have been emptied right after a request, so the first one after
  -- that waits its gap.
  last = tonumber(redis.call('GET', KEYS[3]))
  if not last then
    last = now
    redis.call('SET', KEYS[3], string.format('%.6f', now))
  end
end
local since = tonumber(ARGV[6])
if since >= 0 then last = math.max(last, now - since) end
local closed_until = math.max(number('closed_until') or 0, now + tonumber(ARGV[7]))
local asked = math.max(number('asked') or 0, tonumber(ARGV[8]))
local latency, cooldown = number('latency'), number('cooldown') or 0
local closed_at, streak = number('closed_at') or 0, number('streak') or 0
local leaving, leaving_until = record.leaving or '', number('leaving_until') or 0

local function gap_s()
  local gap = fixed
  if gap < 0 then gap = math.min(math.max((latency or 0) * LATENCY_SHARE, SHORTEST_GAP_S), LONGEST_GAP_S) end
  return math.max(gap, asked)
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
  if retry_after >= 0 and retry_after < ABSURD_S and (busy or (status >= 300 and status < 400)) then
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
if what == 'enter' then
  local gap = gap_s()
  local opens = math.max(last + gap, closed_until)
  if opens > now then
    wait = math.max(opens - now, SHORTEST_WAIT_S)
  elseif gap > 0 and leaving ~= '' and leaving_until > now and leaving ~= slot then
    -- Someone was let in and has not sent yet; the gap will count from then, which is not before now.
    wait = gap
  else
    local running = redis.call('ZCARD', KEYS[2])
    if running >= tonumber(ARGV[5]) then
      wait = math.min(math.max((latency or 0) / running, SLOT_WAIT_LEAST_S), SLOT_WAIT_MOST_S)
    else
      hold(slot)
      last = now
      if gap > 0 then leaving, leaving_until = slot, now + slot_s end
    end
  end
elseif what == 'sent' then
  last = now
  if leaving == slot then leaving = '' end
elseif what == 'leave' then
  redis.call('ZREM', KEYS[2], slot)
  if leaving == slot then leaving = '' end
  local elapsed, status = tonumber(ARGV[10]), tonumber(ARGV[11])
  if status > 0 then
    if latency then latency = latency + LATENCY_WEIGHT * (elapsed - latency) else latency = elapsed end
  end
  judge(elapsed, status, ARGV[12] == '1', tonumber(ARGV[13]), tonumber(ARGV[14]))
elseif what == 'delay' then
  asked = tonumber(ARGV[8])
end

local function text(value) return string.format('%.6f', value) end
redis.call('HSET', KEYS[1], 'last', text(last), 'closed_until', text(closed_until), 'asked', text(asked),
  'cooldown', text(cooldown), 'closed_at', text(closed_at), 'streak', streak, 'leaving', leaving,
  'leaving_until', text(leaving_until))
if latency then redis.call('HSET', KEYS[1], 'latency', text(latency)) end
redis.call('EXPIRE', KEYS[1], math.ceil(REMEMBERED_S + math.max(closed_until - now, 0)))
redis.call('EXPIRE', KEYS[2], math.ceil(slot_s) + 1)
local gap = gap_s()
return {text(wait), text(math.max(math.max(last + gap, closed_until) - now, 0)), text(gap)}
