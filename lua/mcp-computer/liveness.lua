--- Whether the bridge is still there: pings at an interval, and a verdict when nothing comes for too long.
--
-- The agent itself may be held up, by a job that doesn't yield or by a game that lags. What came meanwhile waits in the
-- event queue, or was dropped there, so silence counts only if a ping went unanswered while the agent was listening.

local max = math.max
local setmetatable, type = setmetatable, type

local liveness = {}
liveness.__index = liveness

local DEFAULT_PING_SECONDS, DEFAULT_DEAD_SECONDS = 5, 15
local SHORTEST_PING_SECONDS = 0.1
-- A ping that is this much too late tells that the agent was held up, as a part of the interval.
local LATE = 0.3
-- An agent that is held up all the time gives up after this many times the silence.
local PATIENCE = 3

local function number_or(value, default)
  return type(value) == "number" and value or default
end

--- @param ping_seconds The interval, as the bridge wishes.
-- @param dead_seconds How long a silence is the end, as the bridge wishes.
-- @tparam number now In seconds.
-- @treturn liveness
function liveness.new(ping_seconds, dead_seconds, now)
  local interval = max(SHORTEST_PING_SECONDS, number_or(ping_seconds, DEFAULT_PING_SECONDS))
  return setmetatable({
    interval = interval,
    dead_seconds = max(2 * interval, number_or(dead_seconds, DEFAULT_DEAD_SECONDS)),
    wake_at = now + interval, -- when the next ping is due
    count = 0,                -- pings so far
    unanswered = 0,           -- those since something came
    heard_at = now,           -- when that was
    listening = true,         -- whether the agent was not held up since the last ping
  }, liveness)
end

--- Something came.
-- @tparam number now
function liveness:heard(now)
  self.heard_at = now
  self.unanswered = 0
end

--- The agent did something else for a while.
-- @tparam number seconds
function liveness:held_up(seconds)
  if seconds > self.interval * LATE then self.listening = false end
end

--- To be called when it is time for a ping.
-- @tparam number now
-- @treturn number|nil The ping's number; nil if the bridge is gone.
function liveness:due(now)
  self:held_up(now - self.wake_at)
  local is_silent = now - self.heard_at >= self.dead_seconds
  if is_silent and self.listening and self.unanswered > 0 then return nil end
  if self.unanswered * self.interval >= PATIENCE * self.dead_seconds then return nil end
  self.listening = true
  self.wake_at = now + self.interval
  self.count = self.count + 1
  self.unanswered = self.unanswered + 1
  return self.count
end

return liveness
