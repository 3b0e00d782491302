--- The link to the bridge: a WebSocket that is opened, greeted, watched, and opened again when it breaks.
--
-- A link never waits: it is told of events (@{link:handle}) and of the passing of time (@{link:tick}), and says when it
-- wants to hear of time next (`wake_at`). So it lives in any event loop, and a lost timer costs nothing.

local identity = require("mcp-computer.identity")
local json = require("mcp-computer.json")
local liveness = require("mcp-computer.liveness")

local find, format, sub = string.find, string.format, string.sub
local max, min, random = math.max, math.min, math.random
local pcall, rawequal, setmetatable, tostring, type = pcall, rawequal, setmetatable, tostring, type
local http_library = http

local link = {}
link.__index = link

-- The game's own limit is 30 s, but before 1.105 it forgets handshakes that hang.
local CONNECT_SECONDS = 35
-- A bridge that has not answered hello by then is taken for one of version 1.
local GREETING_SECONDS = 2
-- Then hello is said again, once: what is sent right after `websocket_success` the game now and then drops unsaid.
local GREET_AGAIN_SECONDS = 1
-- An attempt costs next to nothing, and who starts an MCP client looks for the computers at once.
local FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 0.5, 10
-- A link that held for this long was a good one: the next attempt comes soon again. After a shorter one it comes no
-- later than this: the bridge was there a moment ago, and another one may be taking its place.
local GOOD_LINK_SECONDS = 10
local RETRY_AFTER_LINK_SECONDS = 1
-- A link on which nothing has come for so long, not even an answer to hello, is not believed to be one.
local MUTE_SECONDS = 60
-- Once a socket takes nothing any more, its end is a matter of moments: until it comes, or for so long, what the bridge
-- said before is heard.
local LAST_WORDS_SECONDS = 1
-- A bridge that names a time is asked so much after it.
local AFTER_SECONDS = 0.2
-- A peer that says it takes less than this is not believed: no error would fit.
local SMALLEST_LIMIT = 1024
-- Computers that lost one bridge together don't come back in the same tick.
local JITTER = 0.2

-- Frames that only a bridge of version 2 sends, besides requests with a `boot`.
local VERSION2_FRAMES = {
  ack = true, cancel = true, detach = true, ["output-ack"] = true, part = true, ["part-ack"] = true, ping = true,
  pong = true,
}

local SOCKET_EVENTS = {
  websocket_success = true, websocket_failure = true, websocket_message = true, websocket_closed = true,
}

--- The states of a link.
link.WAITING, link.OPENING, link.GREETING, link.LINKED, link.STOPPED =
  "waiting", "opening", "greeting", "linked", "stopped"

--- @tparam table options
--   `address`: see @{url.parse}; `boot`: this start's name; `hello()`: the hello frame; `clock()`: seconds;
--   `on_linked(connection)`; `on_version2(connection)`: its bridge turned out to speak version 2, right after that or
--   later; `on_frame(connection, frame)`: a frame that isn't the link's own affair;
--   `on_trouble(reason, state)`: an attempt failed, or the link broke, while in `state`;
--   `on_refused(reason)`: the bridge takes this computer at another time;
--   `on_stop(reason)`: the link ended for good.
-- @treturn link One that connects at its first @{link:tick}.
function link.new(options)
  return setmetatable({
    options = options,
    state = link.WAITING,
    wake_at = 0,           -- when `tick` has something to do, or nil
    retry_seconds = FIRST_RETRY_SECONDS,
    prefix = options.address.base .. "#" .. sub(options.boot, -4), -- of the URLs of all connections of this start
    attempts = 0,
    -- Of the present attempt: {url, socket, mode, version, limit, greet_until, linked_at, liveness}, whether it has
    -- `heard` something, and whether it was `greeted` by a hello-ok. Of one whose socket takes nothing any more, why it
    -- has `failed`, and until when its end is waited for: `failed_until`.
    -- connection = nil
  }, link)
end

local function close_socket(socket)
  if socket then pcall(socket.close) end
end

-- Drops the present connection, whatever its state.
local function drop(self)
  local connection = self.connection
  self.connection = nil
  if connection then
    close_socket(connection.socket)
    connection.socket = nil
  end
  return connection
end

-- Opens the next connection after a while, or within so many seconds.
local function wait_to_retry(self, within)
  local connection = drop(self)
  local now = self.options.clock()
  if connection and connection.linked_at and now - connection.linked_at >= GOOD_LINK_SECONDS then
    self.retry_seconds = FIRST_RETRY_SECONDS
  elseif connection and connection.greeted then
    self.retry_seconds = min(self.retry_seconds, RETRY_AFTER_LINK_SECONDS)
  end
  -- `random` may be seeded alike everywhere, so the computer's number is mixed in.
  local spread = ((random() + identity.id() * 0.618) % 1 * 2 - 1) * JITTER
  local delay = min(self.retry_seconds * (1 + spread), within or LAST_RETRY_SECONDS)
  self.wake_at = now + max(FIRST_RETRY_SECONDS, min(LAST_RETRY_SECONDS, delay))
  self.retry_seconds = min(LAST_RETRY_SECONDS, self.retry_seconds * 2)
  self.state = link.WAITING
end

local function retry_later(self, reason)
  local state = self.state
  wait_to_retry(self)
  self.options.on_trouble(reason, state)
end

local function stop(self, reason)
  drop(self)
  self.state = link.STOPPED
  self.wake_at = nil
  self.options.on_stop(reason)
end

local function connect(self)
  self.attempts = self.attempts + 1
  local connection = {
    -- The game tells sockets apart by their URL alone; a fragment stays off the wire.
    url = self.prefix .. format("%x", self.attempts),
    mode = json.TEXT,
    version = 1,
    limit = identity.MAX_MESSAGE,
  }
  self.connection = connection
  self.state = link.OPENING
  self.wake_at = self.options.clock() + CONNECT_SECONDS
  local ok, started, problem = pcall(http_library.websocketAsync, connection.url)
  if not ok then
    retry_later(self, tostring(started))
  elseif started == false then
    retry_later(self, tostring(problem or "Could not connect"))
  end
end

local function greet(self)
  self:send(self.connection, json.encode(self.options.hello(), json.TEXT))
end

local function opened(self, socket)
  if self.state ~= link.OPENING then return close_socket(socket) end
  local connection = self.connection
  connection.socket = socket -- kept, since the game closes sockets that are garbage
  local now = self.options.clock()
  self.state = link.GREETING
  self.wake_at = now + GREET_AGAIN_SECONDS
  connection.greet_until = now + GREETING_SECONDS
  greet(self)
end

local function become_linked(self)
  local now = self.options.clock()
  self.state = link.LINKED
  self.wake_at = not self.connection.heard and now + MUTE_SECONDS or nil
  self.connection.linked_at = now
  self.options.on_linked(self.connection)
end

-- Hello was not answered.
local function greet_again(self)
  local connection = self.connection
  if self.wake_at >= connection.greet_until then return become_linked(self) end
  self.wake_at = connection.greet_until
  if not connection.heard then greet(self) end
end

-- The bridge speaks version 2, which its hello-ok says. That may have been lost in a full event queue.
local function become_version2(self, hello_ok)
  local connection = self.connection
  connection.version = 2
  connection.mode = json.BYTES
  if type(hello_ok.maxMessage) == "number" and hello_ok.maxMessage >= SMALLEST_LIMIT then
    connection.limit = min(hello_ok.maxMessage, identity.MAX_MESSAGE)
  end
  connection.liveness = liveness.new(hello_ok.pingSeconds, hello_ok.deadSeconds, self.options.clock())
  if self.state == link.GREETING then become_linked(self) end
  if connection == self.connection then
    self.wake_at = connection.liveness.wake_at
    self.options.on_version2(connection)
  end
end

-- Whether a frame shows that the bridge, which has not spoken version 2 so far, does.
local function shows_version2(self, frame)
  if frame.type == "hello-ok" then return type(frame.protocol) == "number" and frame.protocol >= 2 end
  if self.connection.greeted then return false end
  return VERSION2_FRAMES[frame.type] or frame.type == "request" and type(frame.boot) == "string"
end

local function hello_error(self, frame)
  local reason = type(frame.error) == "string" and frame.error or "the bridge refused this computer"
  if frame.retry == false then return stop(self, reason) end
  if self.state ~= link.GREETING then return retry_later(self, "the bridge says: " .. reason) end
  local after = frame.retryAfterMs
  wait_to_retry(self, type(after) == "number" and after >= 0 and after / 1000 + AFTER_SECONDS or nil)
  self.options.on_refused(reason)
end

local function decode(self, data)
  local frame = json.decode(data, self.connection.mode)
  return type(frame) == "table" and not rawequal(frame, json.null) and frame or nil
end

local function received(self, data, is_binary)
  if is_binary or type(data) ~= "string" then return end
  local connection = self.connection
  connection.heard = true
  if connection.liveness then connection.liveness:heard(self.options.clock()) end
  local frame = decode(self, data)
  if frame and connection.version < 2 and shows_version2(self, frame) then
    become_version2(self, frame)
    if connection ~= self.connection then return end
    frame = decode(self, data)
  end
  if not frame then return end
  local kind = frame.type
  if kind == "hello-ok" then
    connection.greeted = true
    if self.state == link.GREETING then become_linked(self) end
  elseif kind == "hello-error" then
    hello_error(self, frame)
  elseif kind == "ping" then
    if connection.version >= 2 then
      self:send(connection, json.encode({ type = "pong", n = frame.n, at = identity.time() }, connection.mode))
    end
  elseif kind ~= "pong" then -- a pong has been heard, which is all there is to it
    self.options.on_frame(connection, frame)
  end
end

local function closed(self, reason, code)
  local shown = type(reason) == "string" and reason ~= "" and reason or "Connection closed"
  if type(code) == "number" then shown = shown .. format(" (code %d)", code) end
  retry_later(self, shown)
end

--- Whether an event is one of the link's sockets.
-- @tparam table event Packed.
-- @treturn boolean
function link:is_own(event)
  local address = event[2]
  return SOCKET_EVENTS[event[1]] == true and type(address) == "string"
    and sub(address, 1, #self.prefix) == self.prefix
end

--- Takes an event, if it is one of the link's sockets.
-- @tparam table event Packed.
-- @treturn boolean Whether it was; nobody else is to see it then.
function link:handle(event)
  if not self:is_own(event) then return false end
  local name, address = event[1], event[2]
  local connection = self.connection
  if not connection or address ~= connection.url then
    -- Of an attempt that was given up.
    if name == "websocket_success" then close_socket(event[3]) end
  elseif name == "websocket_success" then
    opened(self, event[3])
  elseif name == "websocket_message" then
    received(self, event[3], event[4])
  elseif name == "websocket_failure" then
    retry_later(self, tostring(event[3] or "Could not connect"))
  else
    closed(self, event[3], event[4])
  end
  return true
end

--- Whether an event is a message to another agent of this computer: all programs see what comes for one of them.
-- @tparam table event Packed.
-- @treturn boolean
function link:is_for_other(event)
  local address, base = event[2], self.options.address.base .. "#"
  return event[1] == "websocket_message" and type(address) == "string"
    and sub(address, 1, #base) == base and sub(address, 1, #self.prefix) ~= self.prefix
end

-- It is time for a ping, or the bridge is gone, or is none.
local function check(self)
  local connection = self.connection
  if not connection.liveness then
    self.wake_at = nil
    if not connection.heard then retry_later(self, "nothing has come from the bridge") end
    return
  end
  local n = connection.liveness:due(self.options.clock())
  if not n then
    return retry_later(self, format("nothing came from the bridge for %d seconds", connection.liveness.dead_seconds))
  end
  self.wake_at = connection.liveness.wake_at
  self:send(connection, json.encode({ type = "ping", n = n }, connection.mode))
end

-- The socket takes nothing any more. What the bridge said last may wait among the events, before the socket's end.
local function hear_out(self, reason)
  local connection = self.connection
  connection.failed = reason
  connection.failed_until = self.options.clock() + LAST_WORDS_SECONDS
  self.wake_at = connection.failed_until
end

--- Does what is due by now.
function link:tick()
  local connection = self.connection
  if connection and connection.failed and self.options.clock() >= connection.failed_until then
    return retry_later(self, connection.failed)
  end
  if not self.wake_at or self.options.clock() < self.wake_at then return end
  if self.state == link.WAITING then
    connect(self)
  elseif self.state == link.OPENING then
    retry_later(self, "Timed out")
  elseif self.state == link.GREETING then
    greet_again(self)
  elseif self.state == link.LINKED then
    check(self)
  end
end

--- The agent did something else for a while: that the bridge was silent then says nothing.
-- @tparam number seconds
function link:held_up(seconds)
  if self.connection and self.connection.liveness then self.connection.liveness:held_up(seconds) end
end

--- Sends a frame, if its connection is still the present one. A link that can't send is opened again, once what the
-- bridge said last was heard.
-- @tparam table connection
-- @tparam string message
-- @treturn boolean Whether it was sent.
-- @treturn string|nil `too-large` if the game refuses a message of this size, `busy` if too many messages wait in the
--   game; the link goes on then.
function link:send(connection, message)
  if connection ~= self.connection or not connection.socket or connection.failed then return false end
  local ok, problem = pcall(connection.socket.send, message)
  if ok then return true end
  if find(tostring(problem), "too large", 1, true) then return false, "too-large" end
  if find(tostring(problem), "Too many ongoing", 1, true) then return false, "busy" end
  hear_out(self, tostring(problem))
  return false
end

--- Closes the socket; the link does nothing more.
function link:close()
  drop(self)
  self.state = link.STOPPED
  self.wake_at = nil
end

return link
