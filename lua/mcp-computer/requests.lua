--- The requests of version 2: each runs at most once, and is answered until the answer has arrived.

local consent = require("mcp-computer.consent")
local console = require("mcp-computer.console")
local identity = require("mcp-computer.identity")
local job = require("mcp-computer.job")
local json = require("mcp-computer.json")
local memory = require("mcp-computer.memory")
local methods = require("mcp-computer.methods")
local number = require("mcp-computer.number")
local reply = require("mcp-computer.reply")
local stream = require("mcp-computer.stream")
local told = require("mcp-computer.told")

local floor, max, min = math.floor, math.max, math.min
local next = next
local sub = string.sub
local concat = table.concat
local pcall, rawequal, setmetatable, tostring, type = pcall, rawequal, setmetatable, tostring, type

local requests = {}
requests.__index = requests

-- A request without a deadline has this one, and none has a later one.
local DEFAULT_DEADLINE_MS, LAST_DEADLINE_MS = 20 * 1000, 24 * 3600 * 1000
-- How long a request is remembered after its deadline.
local REMEMBERED_SECONDS = 60
-- How long one is that was cancelled before it came: as long as one that comes late may still be waited for.
local LONGEST_WAIT_SECONDS = 600
-- How long an attached job runs without a bridge that claims it, if that is later than its deadline, and how long a
-- bridge has to claim it after a new link.
local UNCLAIMED_SECONDS, CLAIM_SECONDS = 60, 10
-- Bytes of a job's code that a bridge is told of.
local SHOWN_CODE = 120
-- Longer ids are not remembered.
local ID_LIMIT = 256
-- How often requests are looked through, whether they can be forgotten, and how many at a time.
local SWEEP_SECONDS, SWEEP_LOOKS = 5, 64

local UNCLAIMED = "the bridge whose call waited for it was gone for over a minute"

local LEASE_HINT = "Wait until that job has ended, or cancel it. Without exclusive the code runs beside it."

--- @tparam table options `boot`: this start's name; `clock()`: seconds; `courier`; `jobs`; `memory`; `consent`.
-- @treturn requests
function requests.new(options)
  return setmetatable({
    boot = options.boot,
    clock = options.clock,
    courier = options.courier,
    jobs = options.jobs,
    memory = options.memory,
    consent = options.consent,
    count = 0,       -- requests so far
    -- holder = nil: the request whose job holds the turtle
    sweep_at = 0,    -- when requests are looked through next, in seconds
    attached = {},   -- by their keys: requests whose jobs run while a bridge claims them
    -- linked_on = nil: the connection on which they were looked at last
    linked_at = 0,   -- since when that is the present one, in seconds
    -- wake_at = nil: when one of them is to be stopped, in seconds
  }, requests)
end

local function failure(kind, message, hint)
  return { ok = false, kind = kind, message = message, hint = hint }
end

local function restarted()
  return failure("link-lost", "the computer has restarted since this was asked, so it was not run",
    "What ran on it then has ended. Ask again if it is still wanted.")
end

local function not_begun()
  return { ok = false, kind = "cancelled", message = "cancelled", not_begun = true }
end

local function late()
  return failure("timeout", "this request took too long to arrive, so it was not run")
end

-- Ids are strings, but a number is one's own affair: `7` and `"7"` are two.
local function key_of(id)
  return type(id) .. " " .. tostring(id)
end

local function deadline_of(frame)
  local ms = frame.deadlineMs
  if type(ms) ~= "number" then ms = DEFAULT_DEADLINE_MS end
  return max(0, min(LAST_DEADLINE_MS, ms)) / 1000
end

-- A request's record, which is kept in the memory.
local function new_request(self, frame, arrived_at)
  self.count = self.count + 1
  return {
    key = key_of(frame.id),
    number = self.count,
    id = frame.id,
    method = type(frame.method) == "string" and frame.method or nil,
    state = memory.RUNNING,
    arrived_at = arrived_at,
    deadline = arrived_at + deadline_of(frame),
    expires = arrived_at + deadline_of(frame) + REMEMBERED_SECONDS,
    start_before = type(frame.startBefore) == "number" and frame.startBefore or nil,
    is_job = false,
    has_begun = false,  -- whether its job has, or its question: that counts as begun
    is_asking = false,  -- whether the player is asked yet whether it may run
    -- code = nil: a job's code, or the beginning of it
    -- exclusive = nil: whether the job holds the turtle
    -- stream = nil: what the job prints
    -- printed = nil: bytes it has printed, once it has ended
    -- ok = nil: how it ended
    -- answer = nil: from `reply.raw`, while it is kept
    -- answered_on = nil: the connection on which it was sent
    -- parts = nil: see `outgoing:send`, if it is sent in parts
    -- claimed_on = nil: the connection on which a bridge asked for it last
    -- unclaimed_at = nil: since when that is gone, in seconds
    detached = false,   -- whether a bridge said that the job goes on by itself
    -- has_arrived = nil: whether its answer has, or there is none
  }
end

-- A request has its answer.
local function finish(self, request, outcome, answer)
  request.ok = outcome.ok
  if request.stream then request.printed = request.stream.total end
  if self.holder == request then self.holder = nil end
  self.attached[request.key] = nil
  self.memory:keep(request, answer or reply.raw(request.id, outcome, request.printed), request.is_job)
end

local function lease_refusal(self)
  local holder = self.holder
  return failure("refused", "the job " .. tostring(holder.id) .. " holds the turtle, since "
    .. number.format(floor(self.clock() - holder.arrived_at)) .. " s", LEASE_HINT)
end

-- What the job of a request is made of. One that has been asked about may begin at any time then.
local function new_setup(self, request, params, work, was_asked)
  local is_program = work ~= nil and work.is_program == true
  local handler = not is_program and work or nil
  -- A handler is a function of a table; other code that comes by its hash is a script's.
  local tells = handler and handler.method and told.new() or nil
  local output = stream.new(self.memory.budget, tells)
  return {
    request = request,
    start_before = not was_asked and request.start_before or nil,
    -- Not before: until then nobody knows whether it will run.
    on_begin = function()
      request.has_begun = true
      self.courier:accept(request.id, request.detached)
    end,
    handler = handler,
    caller = params["for"],
    told = tells,
    is_program = is_program,
    -- A program has a terminal of its own unless it is to be seen.
    where = not handler and params.where or is_program and console.JOB or nil,
    width = is_program and params.width or nil,
    height = is_program and params.height or nil,
    output = output,
    answer = function(outcome, pause) return reply.raw(request.id, outcome, output.total, pause) end,
  }
end

-- Asks the player whether a request's job may begin. Returns nil, or the outcome of one that can't be asked about.
local function ask(self, request, question, begin)
  local is_taken = self.consent:ask({
    key = request.key, heading = question.heading, text = question.text, brief = question.brief,
    is_late = function() return request.start_before ~= nil and identity.time() >= request.start_before end,
    on_late = function() finish(self, request, job.expired()) end,
    on_shown = function()
      request.has_begun, request.is_asking = true, true
      self.courier:accept(request.id, request.detached, true)
    end,
    on_yes = function()
      request.is_asking = false
      if not begin() then finish(self, request, methods.too_many_jobs()) end
    end,
    on_no = function(outcome)
      request.is_asking = false
      finish(self, request, outcome)
    end,
  })
  return not is_taken and consent.too_many() or nil
end

-- Starts a request's job, or asks whether it may. Returns nil, or the outcome of one that can't start.
local function start_job(self, request, code, params, handler, question)
  local exclusive = params.exclusive
  if rawequal(exclusive, json.null) then exclusive = nil end
  if exclusive ~= nil and type(exclusive) ~= "boolean" then
    return failure("refused", "params.exclusive must be true or false")
  end
  if exclusive and self.holder then return lease_refusal(self) end
  local setup = new_setup(self, request, params, handler, question ~= nil)
  local function begin() return self.jobs:start(request.key, request.id, code, setup) end
  if question then
    local refusal = ask(self, request, question, begin)
    if refusal then return refusal end
  elseif not begin() then
    return methods.too_many_jobs()
  end
  request.is_job = true
  -- In CraftOS-PC `sub` alone would keep all of it.
  request.code = handler and handler.name or concat({ sub(code, 1, SHOWN_CODE) })
  request.exclusive = exclusive or false
  request.stream = setup.output
  if exclusive then self.holder = request end
  return nil
end

-- Ends a request's job, or takes back its question.
local function stop(self, key, why)
  if not self.consent:cancel(key, why) then self.jobs:cancel(key, why) end
end

-- A bridge asks for a request, and so claims its job on this connection, if a call waits for it there.
local function claim(self, request, frame)
  request.claimed_on, request.unclaimed_at = self.courier.connection, nil
  local is_attached = frame.attached == true and request.is_job and not request.detached
  self.attached[request.key] = is_attached and request or nil
end

-- Takes a request that has not been seen before.
local function take(self, frame, arrived_at)
  local request = new_request(self, frame, arrived_at)
  local ok, outcome, is_taken
  if self.clock() >= request.expires - REMEMBERED_SECONDS and self.clock() > arrived_at then
    -- It came in parts. It may have been run before, and forgotten.
    ok, outcome = true, late()
  else
    ok, outcome, is_taken = pcall(methods.call, frame, function(code, params, handler, question)
      return start_job(self, request, code, params, handler, question)
    end)
  end
  if not ok then
    outcome = failure("runtime", "mcp-computer: internal error: " .. tostring(outcome))
  end
  self.memory:add(request)
  if request.is_job then claim(self, request, frame) end
  if ok and is_taken and not request.is_job then self.courier:accept(request.id) end
  if outcome then finish(self, request, outcome) end
  self.courier:add(request)
end

local function asked(self, frame, arrived_at)
  if frame.boot ~= nil and not rawequal(frame.boot, json.null) and frame.boot ~= self.boot then
    return self.courier:answer(reply.raw(frame.id, restarted()))
  end
  local request = self.memory:find(key_of(frame.id))
  if not request then
    take(self, frame, arrived_at)
  elseif request.state == memory.RUNNING then
    claim(self, request, frame)
    if request.has_begun then self.courier:accept(request.id, request.detached, request.is_asking) end
  elseif request.state == memory.FINISHED then
    self.courier:answer_again(request)
  else
    self.courier:answer(reply.gone(frame.id))
  end
end

-- The call was answered, and the job is to go on by itself.
local function detach(self, frame)
  local request = self.memory:find(key_of(frame.id))
  if request and request.state == memory.RUNNING then
    request.detached = true
    self.attached[request.key] = nil
    self.courier:accept(request.id, true, request.is_asking)
  elseif request and request.state == memory.FINISHED then
    self.courier:answer_again(request)
  else
    self.courier:answer(reply.gone(frame.id))
  end
end

local function cancel(self, frame, arrived_at)
  local request = self.memory:find(key_of(frame.id))
  if not request then
    -- Should it come yet, it must not run.
    request = new_request(self, frame, arrived_at)
    request.state = memory.GONE
    request.has_arrived = true
    request.expires = request.expires + LONGEST_WAIT_SECONDS
    self.memory:add(request)
    if not self.memory.has_lost then return self.courier:answer(reply.raw(frame.id, not_begun())) end
  end
  if request.state == memory.RUNNING then
    -- One that has ended just now is answered with how it ended.
    stop(self, request.key)
  elseif request.state == memory.FINISHED then
    self.courier:answer_again(request)
  else
    self.courier:answer(reply.gone(frame.id))
  end
end

local function answer_arrived(self, frame)
  local request = self.memory:find(key_of(frame.id))
  if not request or request.state ~= memory.FINISHED then return end
  self.courier:withdraw(request)
  self.memory:release(request)
end

local function output_arrived(self, frame)
  local request = self.memory:find(key_of(frame.id))
  if request and request.stream and type(frame.seq) == "number" then request.stream:arrived(frame.seq) end
end

local HANDLERS = {
  request = asked, cancel = cancel, detach = detach, ack = answer_arrived, ["output-ack"] = output_arrived,
}

--- Takes a frame, if it is about a request.
-- @tparam table frame
-- @tparam number arrived_at When it came, or its first part did, in seconds.
function requests:handle(frame, arrived_at)
  local handler = HANDLERS[frame.type]
  if not handler or not reply.is_id(frame.id) then return end
  if type(frame.id) == "string" and #frame.id > ID_LIMIT then return end
  handler(self, frame, arrived_at)
end

--- A request's job has ended.
-- @tparam job ended
function requests:job_ended(ended)
  local request = ended.request
  if request.state == memory.RUNNING then finish(self, request, ended.outcome, ended.answer) end
end

--- A request's job is about to turn the computer off: what it has so far is all there will be.
-- @tparam job halting
function requests:job_halts(halting)
  self:job_ended(halting)
  self.courier:flush(halting.request)
end

--- The ids of all jobs of which an answer is due or kept.
-- @treturn {string,...}
function requests:known_jobs()
  local ids = {}
  local open = self.memory:open()
  for i = 1, #open do
    if open[i].is_job then ids[#ids + 1] = open[i].id end
  end
  return ids
end

-- When an attached job is to be stopped, since no bridge claims it; nil while one does.
local function unclaimed_until(self, request, now)
  if self.linked_on and request.claimed_on == self.linked_on then return nil end
  request.unclaimed_at = request.unclaimed_at or now
  local due = max(request.deadline, request.unclaimed_at + UNCLAIMED_SECONDS)
  return self.linked_on and max(due, self.linked_at + CLAIM_SECONDS) or due
end

-- Stops the jobs whose bridge is gone, and so can't tell that nobody waits for them any more.
local function stop_unclaimed(self, now)
  local connection = self.courier.connection
  if connection ~= self.linked_on then
    self.linked_on, self.linked_at = connection, now
  elseif not self.wake_at or now < self.wake_at then
    return
  end
  self.wake_at = nil
  for key, request in next, self.attached do
    local due = request.state == memory.RUNNING and unclaimed_until(self, request, now)
    if request.state ~= memory.RUNNING then
      self.attached[key] = nil
    elseif due and now >= due then
      self.attached[key] = nil
      stop(self, key, UNCLAIMED)
    elseif due and (not self.wake_at or due < self.wake_at) then
      self.wake_at = due
    end
  end
end

--- Does what is due by now.
function requests:tick()
  local now = self.clock()
  stop_unclaimed(self, now)
  if now < self.sweep_at then return end
  self.sweep_at = now + SWEEP_SECONDS
  self.memory:sweep(SWEEP_LOOKS)
end

return requests
