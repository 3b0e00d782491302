--- All jobs of this computer: each gets every event it waits for, in order, and none can starve the agent.

local job = require("mcp-computer.job")
local guard = require("mcp-computer.guard")
local input = require("mcp-computer.input")

local remove = table.remove
local match = string.match
local rawget, select, setmetatable, tostring, type = rawget, select, setmetatable, tostring, type
local unpack = table.unpack or unpack

local jobs = {}
jobs.__index = jobs

--- Jobs that may run at once.
jobs.LIMIT = 128

-- Events that wait for one job; as in the game's own queue, the newest are dropped beyond.
local INBOX_LIMIT = 256
-- Once jobs have run for this long the rest waits: the agent looks at all events that wait for it first.
local SLICE_SECONDS = 0.02

--- @tparam table options
--   `program`: see @{environment.new}; `clock()`: seconds; `on_end(job)`: called once a job has its outcome;
--   `on_halt(job, name)`: called before a job reboots or shuts down the computer.
-- @treturn jobs
function jobs.new(options)
  return setmetatable({
    options = options,
    by_key = {},  -- entries {key, job, inbox, first, last}
    order = {},   -- the same entries, oldest first
    turn = 1,     -- whose turn it is, as an index of `order`
    ended = {},   -- jobs that have ended, and of which that is not yet known
  }, jobs)
end

--- @tparam string key
-- @treturn job|nil One that still runs.
function jobs:find(key)
  local entry = self.by_key[key]
  return entry and entry.job
end

--- @treturn string|nil What the newest job runs and for whom, in few words; nil: none does.
-- @treturn number How many jobs run.
function jobs:newest()
  local entry = self.order[#self.order]
  if not entry then return nil, 0 end
  local running, caller = entry.job.chunk, entry.job.setup.caller
  return type(caller) == "string" and running .. " for " .. caller or running, #self.order
end

--- @treturn number How many jobs run.
function jobs:count()
  return #self.order
end

--- Takes on a new job. It runs at the next @{jobs:run}.
-- @tparam string key Tells it from all other jobs that run.
-- @param id Its request's.
-- @tparam string code
-- @tparam table setup See @{job.new}.
-- @treturn boolean Whether there was room for it.
function jobs:start(key, id, code, setup)
  if #self.order >= jobs.LIMIT then return false end
  local new = job.new(id, code, setup, self.options)
  local entry = { key = key, job = new, inbox = { false }, first = 1, last = 1 } -- `false`: the start
  self.by_key[key] = entry
  self.order[#self.order + 1] = entry
  return true
end

local function put(entry, event)
  local waiting = entry.last - entry.first + 1
  -- What a job will wait for is known only once it has seen all that came before.
  if waiting < INBOX_LIMIT and (waiting > 0 or entry.job:wants(event[1])) then
    entry.last = entry.last + 1
    entry.inbox[entry.last] = event
  end
end

--- Lets every job have an event of the world.
-- @tparam table event Packed, with its length in `n`.
function jobs:deliver(event)
  for i = 1, #self.order do put(self.order[i], event) end
end

--- Lets a job have the input that it has queued itself.
-- @tparam table event As @{input.EVENT} comes, packed.
function jobs:deliver_input(event)
  local entry = self.by_key[event[2]]
  -- Any program may queue an event of that name.
  if entry and type(event[3]) == "string" then put(entry, { n = event.n - 2, unpack(event, 3, event.n) }) end
end

-- Whether a name is that of a job: its id, or the short form of one that a bridge of ours made.
local function is_called(id, name)
  if id == name then return true end
  local drawn, count = match(tostring(id), "^(%x%x%x%x)%x%x%x%x%x%x%x%x(%-%d+)$")
  return drawn ~= nil and drawn .. count == name
end

-- Lets a job have an event that is for it alone.
local function press(entry, name, ...)
  if type(name) ~= "string" then return false, "an event must have a name" end
  if entry.job.outcome then return false, "the job has ended" end
  if entry.last - entry.first + 1 >= INBOX_LIMIT then return false, "too many events wait for it" end
  put(entry, { n = select("#", ...) + 1, name, ... })
  return true
end

--- What a job draws on, out of sight.
-- @tparam string name Its id, or the short form of that.
-- @treturn table|nil See @{screens.find}.
-- @treturn string|nil Why there is none.
function jobs:screen(name)
  for i = 1, #self.order do
    local entry = self.order[i]
    if is_called(entry.job.id, name) then
      local screen = entry.job.console:shown()
      if not screen then
        return nil, "job " .. name .. " draws on the computer's own screen, and gets no input there: cancel it, and "
          .. "run it without `where`"
      end
      if not rawget(screen, "press") then
        function screen.press(...) return press(entry, ...) end
      end
      return screen
    end
  end
  return nil, "no job " .. name .. " runs here"
end

--- @treturn {string,...} The ids of all that draw out of sight.
function jobs:screens()
  local ids = {}
  for i = 1, #self.order do
    local current = self.order[i].job
    if current.console:shown() then ids[#ids + 1] = tostring(current.id) end
  end
  return ids
end

--- When the next of those goes on that wait by the clock, in seconds.
-- @treturn number|nil
function jobs:wake_at()
  local earliest
  for i = 1, #self.order do
    local due = self.order[i].job.wake_at
    if due and (not earliest or due < earliest) then earliest = due end
  end
  return earliest
end

-- Whether a job has something to do.
local function has_work(entry)
  return entry.job.is_paused or entry.first <= entry.last or entry.job:is_due()
end

-- Lets a job go on after its pause, or gives it the first event of its inbox. Returns whether the game has stopped it:
-- the agent must yield then.
local function step(entry)
  local current, event = entry.job, nil
  if not current.is_paused and not current:is_due() then
    event = entry.inbox[entry.first]
    entry.inbox[entry.first] = nil
    entry.first = entry.first + 1
    if event and not current:wants(event[1]) then return false end
  end
  input.enter(entry.key)
  current:resume(event or nil)
  input.leave()
  local outcome = current.outcome
  return outcome ~= nil and not outcome.ok and guard.is_abort(outcome.message)
end

-- Takes out the job at an index, which has ended.
local function take_out(self, index)
  local entry = remove(self.order, index)
  if index < self.turn then self.turn = self.turn - 1 end
  self.by_key[entry.key] = nil
  self.ended[#self.ended + 1] = entry.job
end

--- Ends a job: nothing more of it runs.
-- @tparam string key
-- @tparam[opt] string why
-- @treturn boolean Whether it still ran.
function jobs:cancel(key, why)
  for i = 1, #self.order do
    if self.order[i].key == key then
      self.order[i].job:cancel(why)
      take_out(self, i)
      return true
    end
  end
  return false
end

local function announce_ended(self)
  while #self.ended > 0 do self.options.on_end(remove(self.ended, 1)) end
end

--- Runs jobs on the events that wait for them, in turn, until none waits, the time is spent, or one has ended, whose
-- answer is not to wait for the others.
--
-- When the time is spent, nothing more is done, not even telling of a job that has ended: the game would stop the agent
-- in the midst of it.
-- @treturn boolean Whether something still waits: the agent is to come back at once, after yielding.
function jobs:run()
  local deadline = self.options.clock() + SLICE_SECONDS
  local idle = 0 -- jobs looked at in a row that had nothing to do
  announce_ended(self)
  while idle < #self.order do
    if self.turn > #self.order then self.turn = 1 end
    local entry = self.order[self.turn]
    if not has_work(entry) then
      idle = idle + 1
      self.turn = self.turn + 1
    else
      idle = 0
      local was_stopped = step(entry)
      local has_ended = entry.job.outcome ~= nil
      if has_ended then
        take_out(self, self.turn)
      else
        self.turn = self.turn + 1
      end
      if was_stopped or self.options.clock() >= deadline then return self:has_waiting() end
      if has_ended then
        announce_ended(self)
        return self:has_waiting()
      end
    end
  end
  return false
end

--- @treturn boolean Whether something waits to be done for some job.
function jobs:has_waiting()
  if #self.ended > 0 then return true end
  for i = 1, #self.order do
    if has_work(self.order[i]) then return true end
  end
  return false
end

return jobs
