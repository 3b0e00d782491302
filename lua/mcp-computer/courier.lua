--- Brings to the bridge what requests have to say: what their jobs print, then their answers; again on the next link.

local json = require("mcp-computer.json")
local memory = require("mcp-computer.memory")
local outgoing = require("mcp-computer.outgoing")
local reply = require("mcp-computer.reply")
local text = require("mcp-computer.text")

local floor, max = math.floor, math.max
local remove, setmetatable = table.remove, setmetatable

local courier = {}
courier.__index = courier

-- Output frames of all jobs that may wait for the bridge.
local WINDOW = 16
-- One that waits for longer is sent again: the game drops events when its queue is full, acknowledgements among them.
local RESEND_SECONDS = 5
-- Frames that are sent at once, at most: the game holds back 512.
local FRAMES_AT_ONCE = 16
-- Jobs that a bridge is told of at once.
local JOBS_AT_ONCE = 8
-- After this long, what the game could not take is tried again.
local BUSY_SECONDS = 0.1

--- @tparam table options `name`: see @{outgoing.new}; `clock()`: seconds; `send(connection, message)`: see
--   @{link:send}; `memory`.
-- @treturn courier Without a connection.
function courier.new(options)
  return setmetatable({
    options = options,
    memory = options.memory,
    -- connection = nil: the present one, if its bridge speaks version 2
    requests = {},     -- those that have, or may have, something to send, oldest first
    replay = {},       -- those that are told to a bridge that was linked just now, before all else
    turn = 0,          -- the request, as an index of `requests`, that had its turn last
    -- wake_at = nil: when there is something to do, in seconds
    outgoing = outgoing.new(options),
  }, courier)
end

local function send(self, frame)
  local connection = self.connection
  if not connection then return false end
  return self.options.send(connection, json.encode(frame, connection.mode))
end

--- Says that a request was taken.
-- @tparam string id
-- @tparam[opt] boolean is_detached Whether its job goes on by itself since the bridge said so.
-- @tparam[opt] boolean is_asking Whether the player is asked yet whether it may run.
function courier:accept(id, is_detached, is_asking)
  send(self, { type = "accepted", id = id, detached = is_detached or nil, asking = is_asking or nil })
end

--- Sends an answer that needs not be kept.
-- @tparam string raw From @{reply.raw}.
function courier:answer(raw)
  local connection = self.connection
  if connection then self.options.send(connection, text.ascii(raw)) end
end

--- Cares for a request from now on.
-- @tparam table request See @{requests}.
function courier:add(request)
  self.requests[#self.requests + 1] = request
end

-- Sends a frame of output. Returns whether it could be sent.
local function send_frame(self, request, frame)
  local sent, problem = send(self, {
    type = "output", id = request.id, seq = frame.seq, at = frame.at, text = frame.text, dropped = frame.dropped,
    told = frame.told,
  })
  if problem == "too-large" and (frame.told or frame.text ~= "") then
    request.stream:lose(frame)
    return send_frame(self, request, frame)
  end
  return sent
end

-- Sends the next frame of a request's output. Returns whether it could be sent, or there is none.
local function send_next_frame(self, request, now)
  local frame = request.stream:next_frame(now)
  if not frame then return true end
  if not send_frame(self, request, frame) then return false end
  frame.sent_at = now
  request.stream:sent()
  return true
end

local function has_unsent_output(request)
  return request.stream ~= nil and request.stream:has_unsent()
end

-- Sends a finished request's answer. Returns whether it could be sent, or at least begun.
local function send_answer(self, request)
  local connection = self.connection
  if not connection then return false end
  local message = reply.message(request.answer, connection.limit)
  if not message then
    request.answered_on = connection
    request.parts = self.outgoing:send(request.answer, function() self:refused(request) end)
    return true
  end
  local sent, problem = self.options.send(connection, message)
  if sent then
    request.answered_on = connection
  elseif problem == "too-large" then
    return self:refused(request)
  end
  return sent
end

--- An answer is too large for the bridge or the game, which is what it is told then.
-- @tparam table request
-- @treturn boolean Whether that could be sent.
function courier:refused(request)
  if request.state ~= memory.FINISHED or request.was_refused then return false end
  request.was_refused = true
  request.parts = nil
  self.memory:replace(request, reply.refused(request.id, #request.answer, self.connection.limit, request.printed))
  return send_answer(self, request)
end

--- Sends a finished request's answer again, unless it is on its way, or will be.
-- @tparam table request
function courier:answer_again(request)
  if has_unsent_output(request) or request.parts and self.outgoing:is_sending(request.parts) then
    self:accept(request.id)
  else
    send_answer(self, request)
  end
end

--- The bridge has a request's answer.
-- @tparam table request
function courier:withdraw(request)
  if request.parts then
    self.outgoing:withdraw(request.parts)
    request.parts = nil
  end
end

local function event_of(request, now)
  local is_finished = request.state == memory.FINISHED
  local job = {
    id = request.id,
    state = request.state,
    method = request.method,
    ageMs = floor(max(0, now - request.arrived_at) * 1000),
    code = request.code,
    exclusive = request.exclusive,
    notBegun = not request.has_begun or nil,
    asking = request.is_asking or nil,
    outputBytes = request.printed or request.stream.total,
    outputArrived = request.stream and request.stream:arrived_bytes() or request.printed,
  }
  if is_finished then job.ok = request.ok end
  return { type = "event", name = "job", job = job }
end

--- A bridge of version 2 was linked: it is told of all jobs first.
-- @tparam table connection
function courier:linked(connection)
  self.connection = connection
  self.outgoing:reset(connection)
  self.requests, self.replay = {}, {}
  local open = self.memory:open()
  for i = 1, #open do
    local request = open[i]
    request.parts = nil
    if request.stream then request.stream:rewind() end
    if request.is_job then self.replay[#self.replay + 1] = request end
  end
end

--- The link broke, or its bridge is one of version 1.
function courier:unlinked()
  self.connection = nil
  self.outgoing:reset(nil)
end

-- Sends what a bridge may have missed of a request. Returns whether all could be sent.
local function replay_request(self, request, now)
  if not send(self, event_of(request, now)) then return false end
  local stream = request.stream
  while stream.next_seq <= stream.last_seq do
    if not send_next_frame(self, request, now) then return false end
  end
  return request.state ~= memory.FINISHED or stream:has_unsent() or send_answer(self, request)
end

-- Tells of some of the jobs that the bridge may not know.
local function run_replay(self, now)
  for _ = 1, JOBS_AT_ONCE do
    local request = self.replay[1]
    if not request then return true end
    if request.state ~= memory.GONE and not replay_request(self, request, now) then return false end
    if request.state ~= memory.GONE then self:add(request) end
    remove(self.replay, 1)
  end
  return true
end

-- Sends the next frame of a request's output if it is time for it. Returns whether it did, or else when it will be
-- time; or nil if it could not.
local function send_output(self, request, now)
  local stream = request.stream
  if not stream then return false end
  local oldest = stream:oldest()
  if oldest and stream.next_seq > oldest.seq and now >= oldest.sent_at + RESEND_SECONDS then
    if not send_frame(self, request, oldest) then return nil end
    oldest.sent_at = now
    return true
  end
  local due = stream:due_at()
  if due and request.state ~= memory.RUNNING then due = 0 end
  if due and (stream.next_seq <= stream.last_seq or self.memory.budget.frames < WINDOW) then
    if now < due then return false, due end
    if not send_next_frame(self, request, now) then return nil end
    return true
  end
  return false, oldest and oldest.sent_at and oldest.sent_at + RESEND_SECONDS
end

-- Sends what is due of all output, in turn. Returns whether it could, and when more will be due.
local function send_outputs(self, now)
  local count, idle, wake = 0, 0, nil
  while idle < #self.requests do
    if count == FRAMES_AT_ONCE then return true, now end
    self.turn = self.turn % #self.requests + 1
    local did, due = send_output(self, self.requests[self.turn], now)
    if did == nil then return false end
    if did then
      count, idle, wake = count + 1, 0, nil
    else
      idle = idle + 1
      if due and (not wake or due < wake) then wake = due end
    end
  end
  return true, wake
end

-- Whether nothing more is to be done for a request.
local function is_settled(self, request)
  if request.state == memory.GONE then return true end
  return request.state == memory.FINISHED and request.answered_on == self.connection
    and not (request.stream and request.stream:oldest())
end

-- Sends the answers before which there is no output left, and removes what is settled. Returns whether it could.
local function send_answers(self)
  local kept, ok = 0, true
  for i = 1, #self.requests do
    local request = self.requests[i]
    if ok and request.state == memory.FINISHED and request.answered_on ~= self.connection
      and not has_unsent_output(request) then
      ok = send_answer(self, request)
    end
    -- It had to make room before it could be answered.
    if ok and request.state == memory.GONE and not request.answered_on then self:answer(reply.gone(request.id)) end
    if not is_settled(self, request) then
      kept = kept + 1
      self.requests[kept] = request
    end
  end
  for i = #self.requests, kept + 1, -1 do self.requests[i] = nil end
  return ok
end

-- Sends what is due. Returns whether it could, and when more will be due.
local function send_due(self, now)
  if #self.replay > 0 then return run_replay(self, now), now end
  local ok, wake = send_outputs(self, now)
  return ok and send_answers(self), wake
end

--- Sends what is due.
-- @treturn boolean Whether there is more to do at once.
function courier:run()
  self.wake_at = nil
  if not self.connection then return false end
  local now = self.options.clock()
  local ok, wake = send_due(self, now)
  if not self.connection then return false end -- the link broke
  local busy = self.outgoing:run()
  local parts_wake = self.outgoing.wake_at
  if not ok then wake = now + BUSY_SECONDS end
  if parts_wake and (not wake or parts_wake < wake) then wake = parts_wake end
  self.wake_at = wake
  return busy or wake ~= nil and wake <= now
end

--- @treturn boolean Whether all was said that a bridge is there to hear.
function courier:is_idle()
  return not self.connection or #self.requests == 0 and #self.replay == 0 and not self.outgoing:is_busy()
end

--- Sends all that a request has to say, whatever waits: the computer is about to go down.
-- @tparam table request A finished one.
function courier:flush(request)
  local now = self.options.clock()
  while has_unsent_output(request) do
    if not send_next_frame(self, request, now) then return end
  end
  send_answer(self, request)
end

return courier
