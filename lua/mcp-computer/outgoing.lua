--- Frames that are too large for one message, on their way out in parts (src/wire/PROTOCOL.md, "Parts").

local base64 = require("mcp-computer.base64")
local json = require("mcp-computer.json")
local text = require("mcp-computer.text")

local ceil, floor, min = math.ceil, math.floor, math.min
local format, sub = string.format, string.sub
local next, remove, setmetatable, type = next, table.remove, setmetatable, type

local outgoing = {}
outgoing.__index = outgoing

-- Bytes of a part: what is encoded in a few milliseconds.
local PART_BYTES = 36000
-- What a part takes in a message besides its data.
local ENVELOPE = 512
-- Parts of one frame that wait for the other side, and how long until one is sent again.
local WINDOW, RESEND_SECONDS = 4, 5
-- Frames that are on their way at once.
local FRAMES_AT_ONCE = 2

--- @tparam table options `name`: told apart from other computers' frames by it; `clock()`: seconds; `send(connection,
--   message)`: see @{link:send}.
-- @treturn outgoing Without a connection.
function outgoing.new(options)
  return setmetatable({
    options = options,
    -- connection = nil: the present one
    frames = {},       -- on their way, or waiting for that, oldest first; see `outgoing:send`
    count = 0,         -- frames so far
    turn = 0,          -- the frame, as an index of `frames`, that had its turn last
    -- wake_at = nil: when there is something to do, in seconds
  }, outgoing)
end

--- Starts anew on a connection, or without one: what was on its way is dropped.
-- @tparam table|nil connection
function outgoing:reset(connection)
  self.connection = connection
  self.frames = {}
  self.wake_at = nil
end

--- Begins to send a frame.
-- @tparam string raw Its JSON text, its strings escaped as `json.RAW`.
-- @tparam function on_refused Called if the bridge refuses it.
-- @treturn table What is on its way, for @{outgoing:withdraw}.
function outgoing:send(raw, on_refused)
  self.count = self.count + 1
  local size = min(PART_BYTES, floor((self.connection.limit - ENVELOPE) / 4) * 3)
  local frame = {
    of = format("%s-%d", self.options.name, self.count),
    raw = raw,
    size = size,                  -- bytes of a part
    count = ceil(#raw / size),
    next = 0,                     -- the next part to send for the first time
    waiting = {},                 -- by the number of a part that was not acknowledged yet: when it was sent
    waiting_count = 0,
    on_refused = on_refused,
  }
  self.frames[#self.frames + 1] = frame
  self.wake_at = 0
  return frame
end

local function index_of(self, frame)
  for i = 1, #self.frames do
    if self.frames[i] == frame then return i end
  end
  return nil
end

--- Gives up sending a frame, if it still is on its way.
-- @tparam table frame From @{outgoing:send}.
function outgoing:withdraw(frame)
  local index = index_of(self, frame)
  if index then
    remove(self.frames, index)
    self.wake_at = 0
  end
end

--- @tparam table frame From @{outgoing:send}.
-- @treturn boolean Whether it is still on its way.
function outgoing:is_sending(frame)
  return index_of(self, frame) ~= nil
end

--- @treturn boolean Whether some frame is on its way, or waits for that.
function outgoing:is_busy()
  return #self.frames > 0
end

--- Takes a `part-ack`.
-- @tparam table ack
function outgoing:acknowledged(ack)
  for i = 1, #self.frames do
    local frame = self.frames[i]
    if frame.of == ack.of then
      if type(ack.error) == "string" then
        remove(self.frames, i)
        frame.on_refused(ack.error)
      elseif frame.waiting[ack.n] then
        frame.waiting[ack.n] = nil
        frame.waiting_count = frame.waiting_count - 1
        if frame.waiting_count == 0 and frame.next == frame.count then remove(self.frames, i) end
      end
      self.wake_at = 0
      return
    end
  end
end

-- The part that a frame has to send now, or nil and when it will have one.
local function due_part(frame, now)
  local oldest, sent_at
  for n, at in next, frame.waiting do
    if not sent_at or at < sent_at then oldest, sent_at = n, at end
  end
  if sent_at and now >= sent_at + RESEND_SECONDS then return oldest end
  if frame.next < frame.count and frame.waiting_count < WINDOW then return frame.next end
  return nil, sent_at and sent_at + RESEND_SECONDS
end

local function send_part(self, frame, n, now)
  if n == frame.next then
    frame.next = n + 1
    frame.waiting_count = frame.waiting_count + 1
  end
  frame.waiting[n] = now
  local piece = sub(frame.raw, n * frame.size + 1, (n + 1) * frame.size)
  self.options.send(self.connection, format("{\"type\":\"part\",\"of\":\"%s\",\"n\":%d,\"count\":%d,\"data\":\"",
    text.escape(frame.of, json.BYTES), n, frame.count) .. base64.encode(piece) .. "\"}")
end

--- Sends one part, if one is due.
-- @treturn boolean Whether another one is due now.
function outgoing:run()
  local count = min(#self.frames, FRAMES_AT_ONCE)
  if count == 0 then
    self.wake_at = nil
    return false
  end
  local now = self.options.clock()
  if self.wake_at and now < self.wake_at then return false end
  self.wake_at = nil
  for _ = 1, count do
    self.turn = self.turn % count + 1
    local frame = self.frames[self.turn]
    local n, due = due_part(frame, now)
    if n then
      send_part(self, frame, n, now)
      self.wake_at = 0
      return #self.frames > 0
    end
    if due and (not self.wake_at or due < self.wake_at) then self.wake_at = due end
  end
  return false
end

return outgoing
