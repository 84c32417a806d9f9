"""What must happen at once in Redis, in Lua. Times are the server's, in milliseconds."""

TOUCH = """
redis.call('SET', KEYS[1], 'ACTIVE', 'PX', ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
redis.call('PEXPIRE', KEYS[3], ARGV[2])
"""
"""KEYS: state, history, requests. ARGV: ms of the session, ms of the history."""

APPEND = """
redis.call('SET', KEYS[1], 'ACTIVE', 'PX', ARGV[3])
local new = redis.call('SADD', KEYS[3], ARGV[1])
if new == 1 then
    redis.call('RPUSH', KEYS[2], ARGV[2])
end
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
return new
"""
"""KEYS: state, history, requests. ARGV: request id, round, ms of the session, ms of the history. Returns 1 if it is new."""

_NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""

CLAIM = (
    _NOW
    + """
local result = redis.call('GET', KEYS[2])
if result then
    return {'done', result}
end
local lock = redis.call('HMGET', KEYS[1], 'token', 'until')
if lock[1] == ARGV[1] then
    return {'started'}
end
if lock[2] and tonumber(lock[2]) > now then
    return {'running'}
end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'until', string.format('%.0f', now + ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[2] + ARGV[3])
return {'started'}
"""
)
"""KEYS: lock, result. ARGV: token, ms of the lease, ms of grace. A claim that is sent twice, since its answer was lost on
the way, is one claim."""

FINISH = (
    _NOW
    + """
local lock = redis.call('HMGET', KEYS[1], 'token', 'until')
if lock[1] ~= ARGV[1] then
    return 0
end
local keep = tonumber(ARGV[3]) or (tonumber(lock[2]) - now)
redis.call('DEL', KEYS[1])
if keep > 0 then
    redis.call('SET', KEYS[2], ARGV[2], 'PX', string.format('%.0f', keep))
end
return 1
"""
)
"""KEYS: lock, result. ARGV: token, answer, ms to keep it or nothing for the rest of the lease. Returns 1 if it was kept."""

RELEASE = """
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then
    return 0
end
return redis.call('DEL', KEYS[1])
"""
"""KEYS: lock. ARGV: token. Returns 1 if it was the token's."""

FORGET = (
    _NOW
    + """
local entries = 0
for _, key in ipairs(KEYS) do
    local kind = redis.call('TYPE', key).ok
    if kind == 'string' then
        entries = entries + 1
    elseif kind == 'list' then
        entries = entries + redis.call('LLEN', key)
    elseif kind == 'hash' and tonumber(redis.call('HGET', key, 'until') or 0) > now then
        entries = entries + 1
    end
    redis.call('DEL', key)
end
return entries
"""
)
"""KEYS: any. Returns how many entries they had: states, rounds, claims that run, and answers."""
