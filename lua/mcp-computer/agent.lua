--- The agent: one loop that serves the link, the jobs and the player's Ctrl+T, and outlives what goes wrong in them.

local advice = require("mcp-computer.advice")
local consent = require("mcp-computer.consent")
local control = require("mcp-computer.control")
local courier = require("mcp-computer.courier")
local describe = require("mcp-computer.describe")
local identity = require("mcp-computer.identity")
local incoming = require("mcp-computer.incoming")
local input = require("mcp-computer.input")
local jobs = require("mcp-computer.jobs")
local json = require("mcp-computer.json")
local key = require("mcp-computer.key")
local legacy = require("mcp-computer.legacy")
local link = require("mcp-computer.link")
local memory = require("mcp-computer.memory")
local methods = require("mcp-computer.methods")
local policy = require("mcp-computer.policy")
local presence = require("mcp-computer.presence")
local requests = require("mcp-computer.requests")
local screens = require("mcp-computer.screens")
local update = require("mcp-computer.update")

local find, format, sub = string.find, string.format, string.sub
local concat = table.concat
local error, next, pcall, print, select, setmetatable, tostring =
  error, next, pcall, print, select, setmetatable, tostring
local printError = printError
local pull, queue = os.pullEventRaw, os.queueEvent
local start_timer, cancel_timer, epoch = os.startTimer, os.cancelTimer, os.epoch
local check_async = http and http.checkURLAsync

local agent = {}
agent.__index = agent

-- The agent's own event: it has yielded only so that the game starts a new time limit.
local TURN_EVENT = "mcp_computer_turn"

-- If it has not come by then, it was lost in a full event queue.
local LOST_TURN_SECONDS = 0.25

-- The game has no event for a new label, so it is looked at: whenever the agent has been busy, and else this often.
local LABEL_SECONDS = 1
-- One that changes all the time is told no more often than this: more frames than anyone asked for end a link.
local TOLD_SECONDS = 0.05

-- An older agent does not say that it runs, but what its bridge says to it is seen. After this long it says nothing any
-- more to one that was left with its socket open.
local OTHER_SECONDS = 20
-- Before an update, what was asked has so long to end and to be answered: the installer may itself be a job.
local UPDATE_SECONDS = 5

local function pack(...)
  return { n = select("#", ...), ... }
end

-- Seconds, from a clock that may stand still for a while but never goes back.
local function new_clock()
  local last, ahead = 0, 0
  return function()
    local now = epoch("utc") / 1000 + ahead
    if now < last then
      ahead = ahead + last - now
      now = last
    end
    last = now
    return now
  end
end

-- Output on the screen must not be able to fail: the player's terminal may be anything by now. One on which the
-- player's shell is gets none.
local function say(self, line)
  if not self.host then pcall(print, line) end
end

local function complain(self, line)
  if not self.host then pcall(printError, line) end
end

-- Shows a failure once, however often it comes back.
local function report(self, lines)
  local all = concat(lines, "\n")
  if all == self.last_report then return end
  self.last_report = all
  complain(self, lines[1])
  for i = 2, #lines do say(self, lines[i]) end
end

-- The link has stood until now, or was not there at all.
local function on_link_lost(self, reason)
  if self.linked_at then self.left_at, self.linked_at = self.clock(), nil end
  self.trouble = reason
end

local function on_linked(self)
  self.linked_at = self.clock()
  self.last_report = nil
  self.other_since = nil
  say(self, "linked as " .. identity.name())
  say(self, "waiting for requests... Press Ctrl+T to stop.")
end

local function on_trouble(self, reason, state)
  on_link_lost(self, reason)
  self.courier:unlinked()
  self.incoming:reset(nil)
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
    report(self, { "Link lost: " .. advice.lost(reason), "Linking again..." })
  end
end

local function on_refused(self, reason)
  on_link_lost(self, reason)
  self.courier:unlinked()
  self.incoming:reset(nil)
  report(self, { "The bridge says: " .. reason .. ".", "Trying again until this one is taken. Ctrl+T stops." })
end

local function on_version2(self, connection)
  self.incoming:reset(connection)
  self.courier:linked(connection)
end

local function on_frame(self, connection, frame, began_at)
  if connection.version < 2 then
    self.legacy:handle(connection, frame)
  elseif frame.type == "part" then
    self.incoming:received(frame)
  elseif frame.type == "part-ack" then
    self.courier.outgoing:acknowledged(frame)
  else
    self.requests:handle(frame, began_at or self.clock())
  end
end

local function on_job_end(self, job)
  if job.is_answered then return end
  job.is_answered = true
  if job.request then self.requests:job_ended(job) else self.legacy:job_ended(job) end
end

-- A job is about to turn the computer off: what it has so far is all there will be.
local function on_job_halt(self, job, name)
  job.output:write("[" .. name .. " was called; the computer goes down now]\n")
  local handler = job.setup.handler
  if handler then
    -- Whoever calls a tool is told. A script that asks for code gets the code's own values: none.
    local told = handler.method and { name .. " was called: the computer goes down now." } or {}
    job.outcome = { ok = true, result = { values = json.array(told) }, halts = true }
  elseif job.setup.is_program then
    job.outcome = { ok = true, result = { success = true }, halts = true }
  else
    job.outcome = { ok = true, returns = describe.values({ n = 0 }, 1), halts = true }
  end
  job.is_answered = true
  if job.request then self.requests:job_halts(job) else self.legacy:job_ended(job) end
end

-- Whether an event is nobody's but the agent's.
local function owns(self, event)
  local name = event[1]
  return name == TURN_EVENT or name == input.EVENT or name == "timer" and event[2] == self.timer
    or self.link:is_own(event)
end

-- Takes what the host of the player's shell has for an agent.
local function settle_in(self)
  self.host.set_owner(function(event) return owns(self, event) end)
  for kind, provider in next, self.host.providers do screens.provide(kind, provider) end
  methods.set_errors(self.host.errors)
end

--- Makes an agent.
-- @tparam table options
--   `address`: see @{url.parse}; `version`; `token` or nil; `policy`: see @{policy};
--   `program`: see @{environment.new}; `about()`: what another agent that starts is told, see @{presence.answer};
--   `host`: see @{hosting:handle}, or nil.
-- @treturn agent
function agent.new(options)
  local clock = new_clock()
  methods.set_policy(options.policy)
  local kept = key.load()
  local self = setmetatable({
    address = options.address,
    about = options.about,
    host = options.host,
    boot = identity.draw_boot(),
    clock = clock,
    policy = options.policy,
    consent = consent.new(clock, options.host),
    -- timer = nil: the one timer that runs
    -- timer_due = nil: when it is to fire, in seconds
    -- turn_due = nil: when the agent's turn comes at the latest, while it has yielded with work to do
    -- fatal = nil: why the agent has to end
    is_stopped = false, -- whether the player has said that it is to
    -- linked_at = nil: since when the link stands, in seconds
    -- left_at = nil: when the last one ended
    -- trouble = nil: why it did, or why none came to be
    -- last_report = nil: the failure that is on the screen
    -- other_since = nil: when a message to another agent of this computer was seen first while not linked, in seconds
    -- update = nil: the source of a new version that is to take this one's place
    -- update_due = nil: when it does at the latest, in seconds
    -- check_url = nil: the address that the game is asked to check
    -- label = nil: the label that the bridge was told last
    -- label_of = nil: the connection on which it was
    is_paused = false,  -- whether it was told that nothing new begins here
    -- told_at = nil: when one of both was told by an event, in seconds
    -- label_due = nil: when the label is looked at next, in seconds, while the bridge can be told
  }, agent)
  local function send(connection, message)
    return self.link:send(connection, message)
  end
  self.jobs = jobs.new({
    clock = clock,
    program = options.program,
    on_end = function(job) on_job_end(self, job) end,
    on_halt = function(job, name) on_job_halt(self, job, name) end,
  })
  screens.provide("job", {
    find = function(name) return self.jobs:screen(name) end,
    names = function() return self.jobs:screens() end,
  })
  self.memory = memory.new(clock)
  self.courier = courier.new({ name = sub(self.boot, -6), clock = clock, memory = self.memory, send = send })
  self.requests = requests.new({
    boot = self.boot, clock = clock, courier = self.courier, jobs = self.jobs, memory = self.memory,
    consent = self.consent,
  })
  self.incoming = incoming.new({
    clock = clock, send = send,
    on_frame = function(connection, frame, began_at) on_frame(self, connection, frame, began_at) end,
  })
  self.legacy = legacy.new({ jobs = self.jobs, consent = self.consent, send = send })
  self.link = link.new({
    address = options.address,
    boot = self.boot,
    clock = clock,
    hello = function()
      -- A hello that is said again is not read again, unless the first was lost.
      if self.label_of ~= self.link.connection then
        self.label, self.label_of = identity.label(), self.link.connection
        self.is_paused = methods.is_paused()
      end
      return identity.hello({
        boot = self.boot, key = kept, version = options.version, token = options.token,
        policy = options.policy, paused = self.is_paused or nil, hosts = self.host ~= nil,
        jobs = self.requests:known_jobs(),
      })
    end,
    on_linked = function() on_linked(self) end,
    on_version2 = function(connection) on_version2(self, connection) end,
    on_frame = function(connection, frame) on_frame(self, connection, frame) end,
    on_trouble = function(reason, state) on_trouble(self, reason, state) end,
    on_refused = function(reason) on_refused(self, reason) end,
    on_stop = function(reason) self.fatal = "The bridge ended the link: " .. reason end,
  })
  methods.set_paused(control.is_paused())
  if self.host then settle_in(self) end
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

-- The earliest of times that may be nil.
local function earliest(a, b)
  if a and b then return a < b and a or b end
  return a or b
end

-- Keeps one timer running for what the agent waits for. A timer that should have fired by now may have been lost in a
-- full event queue: it is started anew.
local function arm(self)
  local due = earliest(earliest(self.link.wake_at, self.courier.wake_at), earliest(self.turn_due, self.label_due))
  due = earliest(due, earliest(earliest(self.requests.wake_at, self.consent.wake_at), self.update_due))
  due = earliest(due, self.jobs:wake_at())
  local now = self.clock()
  -- One that fires too early does no harm, and is not worth another.
  if self.timer and (not due or self.timer_due > due or self.timer_due <= now) then
    pcall(cancel_timer, self.timer)
    self.timer = nil
  end
  if due and not self.timer then
    self.timer = start_timer(due > now and due - now or 0)
    self.timer_due = due
  end
end

-- Another agent of this computer has this bridge. One that is linked keeps its place.
local function notice_other(self, event)
  if self.link.state == link.LINKED or not self.link:is_for_other(event) then return end
  local now = self.clock()
  self.other_since = self.other_since or now
  if now - self.other_since >= OTHER_SECONDS then self.fatal = presence.words({}) end
end

-- What is told to whoever asks whether an agent runs here.
local function about(self)
  local told, now = self.about(), self.clock()
  told.policy = self.policy
  told.link = {
    address = self.address.base,
    linked_seconds = self.linked_at and now - self.linked_at,
    left_seconds = self.left_at and now - self.left_at,
    trouble = self.trouble,
  }
  return told
end

-- The player says something.
local function take_command(self, event)
  local host = self.host
  control.obey(event, {
    stop = function() self.is_stopped = true end,
    set_paused = methods.set_paused,
    hosts = host ~= nil,
    set_line = host and host.set_line,
  })
end

-- What the status line says, if there is one.
local function show_status(self)
  local host = self.host
  if not host or not host.has_line() then return end
  local text
  if self.linked_at then
    text = "linked to " .. self.address.base
  else
    text = "not linked" .. (self.trouble and ": " .. self.trouble or "")
  end
  if methods.is_paused() then text = "paused, " .. text end
  local running, count = self.jobs:newest()
  if running then text = format("%s%s | %s", running, count > 1 and format(" +%d", count - 1) or "", text) end
  host.show(text)
end

-- Somebody asks for an update.
local function take_update(self, name, source)
  local problem = update.refuse(source, self.about().path)
  update.answer(name, problem)
  if problem or self.update then return end
  say(self, "A new version has come. Updating...")
  self.update, self.update_due = source, self.clock() + UPDATE_SECONDS
end

-- Whether nothing is left to be done before the update, or it has waited long enough.
local function is_time_to_update(self)
  if not self.update then return false end
  return self.clock() >= self.update_due or self.jobs:count() == 0 and not self.jobs:has_waiting()
    and self.consent:is_idle() and self.courier:is_idle()
end

-- Deals with one event: the link's, the agent's own, or the world's.
local function handle(self, event)
  local name = event[1]
  if name == "timer" and event[2] == self.timer then
    self.timer = nil
  elseif name == TURN_EVENT then
    self.turn_due = nil
  elseif name == "http_check" and self.check_url and event[2] == self.check_url then
    checked(self, event[3], event[4])
  elseif name == input.NO then
    self.consent:refuse()
  elseif name == input.EVENT then
    self.jobs:deliver_input(event)
  elseif input.is_input(name) then
    self.consent:input(event)
  elseif not self.link:handle(event) then
    if name == presence.ASK then
      presence.answer(event[2], about(self))
    elseif name == control.EVENT then
      take_command(self, event)
    elseif name == update.EVENT then
      take_update(self, event[2], event[3])
    else
      notice_other(self, event)
    end
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

-- Tells the bridge when the label has changed, before the answer of the job that changed it; and when the player has
-- paused this computer.
local function tell_changes(self)
  local connection = self.link.connection
  if self.link.state ~= link.LINKED or connection.version < 2 then
    self.label_due = nil
    return
  end
  local now, label, is_paused = self.clock(), identity.label(), methods.is_paused()
  local event
  if label ~= self.label then
    event = { type = "event", name = "label", label = label }
  elseif is_paused ~= self.is_paused then
    event = { type = "event", name = "paused", paused = is_paused }
  end
  if event and (not self.told_at or now - self.told_at >= TOLD_SECONDS) then
    self.told_at = now
    if self.link:send(connection, json.encode(event, connection.mode)) then
      self.label = label
      if event.name == "paused" then self.is_paused = is_paused end
    end
  end
  self.label_due = event and self.told_at + TOLD_SECONDS or now + LABEL_SECONDS
end

-- Runs jobs, and sends what they have to say. Returns whether there is more to do at once.
local function work(self)
  local started = self.clock()
  -- Before the jobs, of which a yes makes one.
  protected(self, self.consent.tick, self.consent)
  local busy = self.jobs:has_waiting() and protected(self, self.jobs.run, self.jobs)
  self.link:held_up(self.clock() - started)
  protected(self, tell_changes, self)
  busy = protected(self, self.incoming.run, self.incoming) or busy
  busy = protected(self, self.courier.run, self.courier) or busy
  protected(self, self.requests.tick, self.requests)
  -- What has come in parts may have started a job.
  return busy or self.jobs:has_waiting()
end

-- While there is more to do, the agent yields by an event of its own, and goes on once that comes: so it has seen all
-- events before it, and the queue doesn't fill up.
local function loop(self)
  start_check(self)
  while not self.fatal do
    protected(self, self.link.tick, self.link)
    if not self.turn_due or self.clock() >= self.turn_due then
      self.turn_due = nil
      if work(self) then
        queue(TURN_EVENT)
        self.turn_due = self.clock() + LOST_TURN_SECONDS
      end
    end
    if self.fatal then break end
    if self.is_stopped then return nil end
    if is_time_to_update(self) then return self.update end
    protected(self, show_status, self)
    protected(self, arm, self)
    local event = pack(pull())
    if event[1] == "terminate" then return nil end
    protected(self, handle, self, event)
  end
end

--- Serves until the player stops it, or an update takes its place. Whatever ends it, the socket is closed.
-- @treturn string|nil The new version's source, if there is one.
-- @throws What ended it, if that was none of both.
function agent:run()
  if self.policy == policy.ASK then input.mark() end
  local ok, result = pcall(loop, self)
  input.unmark()
  self.link:close()
  if self.timer then pcall(cancel_timer, self.timer) end
  if not ok then error(result, 0) end
  if self.fatal then error(self.fatal, 0) end
  if not result then say(self, "mcp-computer stopped.") end
  return result
end

return agent
