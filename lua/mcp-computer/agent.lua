--- The agent: one loop that serves the link, the jobs and the player's Ctrl+T, and outlives what goes wrong in them.

local advice = require("mcp-computer.advice")
local describe = require("mcp-computer.describe")
local identity = require("mcp-computer.identity")
local jobs = require("mcp-computer.jobs")
local link = require("mcp-computer.link")
local methods = require("mcp-computer.methods")
local reply = require("mcp-computer.reply")

local find, format = string.find, string.format
local concat = table.concat
local error, pcall, print, select, setmetatable, tostring = error, pcall, print, select, setmetatable, tostring
local printError = printError
local pull, queue = os.pullEventRaw, os.queueEvent
local start_timer, cancel_timer, epoch = os.startTimer, os.cancelTimer, os.epoch
local check_async = http and http.checkURLAsync

local agent = {}
agent.__index = agent

-- The agent's own event: it has yielded only so that the game starts a new time limit.
local TURN_EVENT = "mcp_computer_turn"

-- The player's input: for the player's programs, never for a job.
local PLAYER_EVENTS = {
  char = true, file_transfer = true, key = true, key_up = true, mouse_click = true, mouse_drag = true,
  mouse_move = true, mouse_scroll = true, mouse_up = true, paste = true, terminate = true,
}

local function pack(...)
  return { n = select("#", ...), ... }
end

local function seconds()
  return epoch("utc") / 1000
end

-- Output on the screen must not be able to fail: the player's terminal may be anything by now.
local function say(line)
  pcall(print, line)
end

local function complain(line)
  pcall(printError, line)
end

-- Shows a failure once, however often it comes back.
local function report(self, lines)
  local all = concat(lines, "\n")
  if all == self.last_report then return end
  self.last_report = all
  complain(lines[1])
  for i = 2, #lines do say(lines[i]) end
end

local function on_linked(self)
  self.last_report = nil
  say("linked as " .. identity.name())
  say("waiting for requests... Press Ctrl+T to stop.")
end

local function on_trouble(self, reason, state)
  if state == link.OPENING then
    local explained = advice.explain(reason, self.address)
    if explained.fatal then
      self.fatal = concat(explained.lines, "\n")
      self.link:close()
      return
    end
    explained.lines[#explained.lines + 1] = "Trying again until it works. Ctrl+T stops."
    report(self, explained.lines)
  else
    report(self, { "Link lost: " .. reason, "Linking again..." })
  end
end

local function send(self, connection, id, message)
  local sent, problem = self.link:send(connection, message)
  if not sent and problem == "too-large" then
    self.link:send(connection, reply.refused_by_game(connection, id, #message))
  end
end

local function on_frame(self, connection, frame)
  if frame.type ~= "request" or not reply.is_id(frame.id) then return end
  local ok, outcome = pcall(methods.call, frame, self.jobs, connection)
  if not ok then
    outcome = { ok = false, kind = "runtime", message = "mcp-computer: internal error: " .. tostring(outcome) }
  end
  if outcome then send(self, connection, frame.id, reply.encode(connection, frame.id, outcome)) end
end

local function on_job_end(self, job)
  if job.answered then return end
  job.answered = true
  send(self, job.owner, job.id, reply.encode(job.owner, job.id, job.outcome, job.output:text()))
end

-- A job is about to turn the computer off: what it has so far is all there will be.
local function on_job_halt(self, job, name)
  job.output:write("[" .. name .. " was called; the computer goes down now]\n")
  job.outcome = { ok = true, returns = describe.values({ n = 0 }, 1) }
  on_job_end(self, job)
end

--- Makes an agent.
-- @tparam table options
--   `address`: see @{url.parse}; `version`; `token` or nil; `program`: see @{environment.new}.
-- @treturn agent
function agent.new(options)
  local self = setmetatable({
    address = options.address,
    boot = identity.draw_boot(),
    timer = nil,        -- the one timer that runs for the link
    timer_due = nil,    -- when it is to fire, in seconds
    fatal = nil,        -- why the agent has to end
    last_report = nil,  -- the failure that is on the screen
    check_url = nil,    -- the address that the game is asked to check
  }, agent)
  self.jobs = jobs.new({
    clock = seconds,
    program = options.program,
    on_end = function(job) on_job_end(self, job) end,
    on_halt = function(job, name) on_job_halt(self, job, name) end,
  })
  self.link = link.new({
    address = options.address,
    boot = self.boot,
    clock = seconds,
    hello = function()
      return identity.hello({
        boot = self.boot, version = options.version, token = options.token, jobs = {},
      })
    end,
    on_linked = function() on_linked(self) end,
    on_frame = function(connection, frame) on_frame(self, connection, frame) end,
    on_trouble = function(reason, state) on_trouble(self, reason, state) end,
    on_stop = function(reason) self.fatal = "The bridge ended the link: " .. reason end,
  })
  return self
end

-- Before 1.105 a connection that the game forbids may hang silently; this check never does.
local function start_check(self)
  if not check_async then return end
  local scheme = self.address.scheme == "wss" and "https" or "http"
  local host = self.address.host
  if find(host, ":", 1, true) then host = "[" .. host .. "]" end
  self.check_url = format("%s://%s:%d/", scheme, host, self.address.port)
  pcall(check_async, self.check_url)
end

local function checked(self, ok, reason)
  self.check_url = nil
  if not ok and self.link.state == link.OPENING then on_trouble(self, tostring(reason), link.OPENING) end
end

-- Keeps one timer running for what the link waits for. A timer that should have fired by now may have been lost in a
-- full event queue: it is started anew.
local function arm(self)
  local due = self.link.wake_at
  if self.timer and (due ~= self.timer_due or seconds() >= due) then
    pcall(cancel_timer, self.timer)
    self.timer = nil
  end
  if due and not self.timer then
    local delay = due - seconds()
    self.timer = start_timer(delay > 0 and delay or 0)
    self.timer_due = due
  end
end

-- Deals with one event: the link's, the agent's own, or the world's.
local function handle(self, event)
  local name = event[1]
  if name == "timer" and event[2] == self.timer then
    self.timer = nil
    self.link:tick(true)
  elseif name == "http_check" and self.check_url and event[2] == self.check_url then
    checked(self, event[3], event[4])
  elseif name == TURN_EVENT or PLAYER_EVENTS[name] or self.link:handle(event) then
    return
  else
    self.jobs:deliver(event)
  end
end

-- Does a part of the loop's work, so that a fault in it costs no more than that part.
local function protected(self, work, ...)
  local ok, result = pcall(work, ...)
  if ok then return result end
  report(self, { "mcp-computer: internal error: " .. tostring(result) })
  return nil
end

local function loop(self)
  start_check(self)
  while not self.fatal do
    protected(self, self.link.tick, self.link)
    if self.jobs:has_waiting() and protected(self, self.jobs.run, self.jobs) then queue(TURN_EVENT) end
    if self.fatal then break end
    protected(self, arm, self)
    local event = pack(pull())
    if event[1] == "terminate" then return end
    protected(self, handle, self, event)
  end
end

--- Serves until the player stops it. Whatever ends it, the socket is closed.
-- @throws What ended it, if that was not the player.
function agent:run()
  local ok, problem = pcall(loop, self)
  self.link:close()
  if self.timer then pcall(cancel_timer, self.timer) end
  if not ok then error(problem, 0) end
  if self.fatal then error(self.fatal, 0) end
  say("mcp-computer stopped.")
end

return agent
