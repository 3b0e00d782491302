--- Frames that come in parts, put together (src/wire/PROTOCOL.md, "Parts").
--
-- What takes time (base64, JSON) is done in a coroutine that pauses every few milliseconds.

local base64 = require("mcp-computer.base64")
local json = require("mcp-computer.json")

local concat, remove = table.concat, table.remove
local create, resume, status, yield = coroutine.create, coroutine.resume, coroutine.status, coroutine.yield
local floor = math.floor
local error, rawequal, setmetatable, type = error, rawequal, setmetatable, type

local incoming = {}
incoming.__index = incoming

--- Bytes of a frame that is put together, at most.
incoming.LIMIT = 16 * 1024 * 1024
-- Frames that are put together at once, and how long one may wait for its next part.
local FRAMES_AT_ONCE, IDLE_SECONDS = 2, 60
-- Whole frames that are remembered, so that a part of one that comes again is acknowledged again.
local REMEMBERED = 32
-- Parts that wait to be worked on; the sender sends again what finds no room.
local QUEUE_LIMIT = 64
-- The coroutine pauses after this long.
local SLICE_SECONDS = 0.005

--- @tparam table options `clock()`: seconds; `send(connection, message)`: see @{link:send}; `on_frame(connection,
--   frame, began_at)`: called with a frame once it is whole.
-- @treturn incoming Without a connection.
function incoming.new(options)
  local self = setmetatable({ options = options }, incoming)
  self:reset(nil)
  return self
end

--- Starts anew on a connection, or without one: what was being put together is dropped.
-- @tparam table|nil connection
function incoming:reset(connection)
  self.connection = connection
  self.frames = {}      -- being put together: {of, count, pieces, got, bytes, began_at, touched_at}
  self.queue = {}       -- parts that wait to be worked on: {frame, n, data}
  self.done = {}        -- names of frames that were whole, the latest last
  self.worker = nil     -- the coroutine, if it has something to do
  self.whole = nil      -- what it has put together just now: {frame, began_at}
end

local function acknowledge(self, of, n, problem)
  self.options.send(self.connection, json.encode({ type = "part-ack", of = of, n = n, error = problem }, json.BYTES))
end

local function is_whole_number(n)
  return type(n) == "number" and n >= 0 and n == floor(n)
end

local function find_frame(self, of)
  for i = 1, #self.frames do
    if self.frames[i].of == of then return self.frames[i], i end
  end
  return nil
end

local function drop_idle(self, now)
  for i = #self.frames, 1, -1 do
    if now - self.frames[i].touched_at >= IDLE_SECONDS then remove(self.frames, i) end
  end
end

local function was_whole(self, of)
  for i = 1, #self.done do
    if self.done[i] == of then return true end
  end
  return false
end

local function remember(self, of)
  self.done[#self.done + 1] = of
  if #self.done > REMEMBERED then remove(self.done, 1) end
end

local function refuse(self, frame, n)
  local _, index = find_frame(self, frame.of)
  if index then remove(self.frames, index) end
  acknowledge(self, frame.of, n, "too-large")
end

-- The frame that a part belongs to, if there is room for it.
local function frame_for(self, part, now)
  local frame = find_frame(self, part.of)
  if frame or #self.frames >= FRAMES_AT_ONCE then return frame end
  frame = { of = part.of, count = part.count, pieces = {}, got = 0, bytes = 0, began_at = now, touched_at = now }
  self.frames[#self.frames + 1] = frame
  return frame
end

--- Takes a `part`.
-- @tparam table part
function incoming:received(part)
  if type(part.of) ~= "string" or type(part.data) ~= "string" then return end
  if not is_whole_number(part.n) or not is_whole_number(part.count) or part.n >= part.count then return end
  if was_whole(self, part.of) then return acknowledge(self, part.of, part.n) end
  local now = self.options.clock()
  drop_idle(self, now)
  local size = floor(#part.data / 4) * 3
  -- All parts but the last are of the same size.
  local is_last = part.n == part.count - 1
  if not is_last and size * (part.count - 1) > incoming.LIMIT then return refuse(self, part, part.n) end
  local frame = frame_for(self, part, now)
  if not frame or frame.count ~= part.count or #self.queue >= QUEUE_LIMIT then return end
  frame.touched_at = now
  if frame.pieces[part.n] then return acknowledge(self, part.of, part.n) end
  self.queue[#self.queue + 1] = { frame = frame, n = part.n, data = part.data }
end

-- Works on one part. Returns the frame, and when it began to come, once it is whole and makes sense.
local function take_part(self, part, pause)
  local frame = part.frame
  if find_frame(self, frame.of) ~= frame or frame.pieces[part.n] then return nil end
  local piece = base64.decode(part.data, pause)
  if not piece then return nil end
  frame.bytes = frame.bytes + #piece
  if frame.bytes > incoming.LIMIT then
    refuse(self, frame, part.n)
    return nil
  end
  frame.pieces[part.n] = piece
  frame.got = frame.got + 1
  acknowledge(self, frame.of, part.n)
  if frame.got < frame.count then return nil end
  local _, index = find_frame(self, frame.of)
  if index then remove(self.frames, index) end
  remember(self, frame.of)
  local result = json.decode(concat(frame.pieces, "", 0, frame.count - 1), json.RAW, pause)
  if type(result) ~= "table" or rawequal(result, json.null) then return nil end
  return { frame = result, began_at = frame.began_at }
end

local function new_worker(self)
  local function pause()
    if self.options.clock() >= self.pause_at then yield() end
  end
  return create(function()
    while #self.queue > 0 and not self.whole do self.whole = take_part(self, remove(self.queue, 1), pause) end
  end)
end

--- Works for a few milliseconds, if there is something to do.
-- @treturn boolean Whether there still is.
function incoming:run()
  if not self.worker and #self.queue == 0 then return false end
  self.pause_at = self.options.clock() + SLICE_SECONDS
  local worker = self.worker or new_worker(self)
  self.worker = worker
  local ok, problem = resume(worker)
  if not ok or status(worker) == "dead" then self.worker = nil end
  if not ok then error(problem, 0) end
  local whole = self.whole
  self.whole = nil
  if whole then self.options.on_frame(self.connection, whole.frame, whole.began_at) end
  return self.worker ~= nil or #self.queue > 0
end

return incoming
