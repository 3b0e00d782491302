-- mcp-computer, all modules in one file. Served by mcp-bridge.
local modules, loaded, outer_require = {}, {}, require
local function require(name)
  if not modules[name] then return outer_require(name) end
  if loaded[name] == nil then loaded[name] = modules[name]() end
  return loaded[name]
end
modules["mcp-computer.advice"] = function()
--- What a failure means, in plain words, and which line of which file mends it.

local game = require("mcp-computer.game")

local find, format = string.find, string.format

local advice = {}

-- Since this version of the mod a rule may name a port.
local FIRST_WITH_PORT_RULES = 93

-- The lines that say which file to edit.
local function place(this)
  local file, where = game.config_file(this)
  local opening = this.family == game.CRAFTOS_PC and "With CraftOS-PC closed, edit"
    or "With the game stopped, edit on the world's machine"
  return opening .. "\n" .. file .. (where and "\n" .. where or "")
end

-- Whether a host is the machine that runs the world itself.
local function is_loopback(host)
  return host == "localhost" or host == "::1" or find(host, "^127%.") ~= nil
end

-- The lines that let computers connect to a host.
local function permission_lines(address, this)
  local host = address.host
  local loopback = is_loopback(host) and host ~= "::1"
  if this.family == game.CRAFTOS_PC then
    return {
      format("Take what matches %s out of \"http_blacklist\", and let \"http_whitelist\" hold", host),
      format("  [\"*\"]   or   [\"%s\"]", host),
    }
  end
  if this.family == game.CFG then
    return {
      format("Delete what matches %s from the list blocked_domains:", host),
      loopback and "  127.0.0.0/8" or "  (such as 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16)",
    }
  end
  if this.family == game.COMMON_TOML then
    return {
      format("Delete what matches %s from the list blacklist:", host),
      loopback and "  \"127.0.0.0/8\"" or "  (such as \"10.0.0.0/8\", \"172.16.0.0/12\" or \"192.168.0.0/16\")",
    }
  end
  local lines = {
    "Put ABOVE the rule with host = \"$private\":",
    "[[http.rules]]",
    format(" host = \"%s\"", loopback and "127.0.0.0/8" or host),
  }
  if not this.mod or this.mod >= FIRST_WITH_PORT_RULES then
    lines[#lines + 1] = format(" port = %d", address.port)
  end
  lines[#lines + 1] = " action = \"allow\""
  return lines
end

local function not_permitted(address, this)
  local lines = {
    format("Domain not permitted: the game forbids computers to connect to %s.", address.host),
    place(this),
  }
  local permission = permission_lines(address, this)
  for i = 1, #permission do lines[#lines + 1] = permission[i] end
  return lines
end

local function http_off(_, this)
  local setting = this.family == game.CRAFTOS_PC and "Set \"http_enable\" to true."
    or this.family == game.CFG and "Set enabled=true in the section http."
    or "Set enabled = true under [http]."
  return { "The HTTP API is off, so this computer can't connect.", place(this), setting }
end

local function websockets_off(_, this)
  local setting = this.family == game.CRAFTOS_PC and "Set \"http_websocket_enabled\" to true."
    or this.family == game.CFG and "Set websocket_enabled=true in the section http."
    or "Set websocket_enabled = true under [http]."
  return { "Websockets are off, so this computer can't connect.", place(this), setting }
end

local function no_bridge(address)
  local lines = {
    format("Nothing answers at %s, port %d.", address.host, address.port),
    "Is mcp-bridge running there (or the MCP client that starts it)? Is the address right? Does a firewall block it?",
  }
  if is_loopback(address.host) then
    lines[#lines + 1] = format("%s here is the machine that runs the world, not the player's.", address.host)
  end
  return lines
end

local function unknown_host(address)
  return {
    format("The world's machine knows no host %s.", address.host),
    "Check the name, or use the IP address that mcp-bridge shows.",
  }
end

local function unauthorized()
  return {
    "The bridge wants a token (HTTP 401).",
    "Set the bridge's CC_LINK_TOKEN here too: set mcp_computer.token <token>",
  }
end

local function forbidden(address)
  return {
    "The bridge refuses this address (HTTP 403).",
    format("It takes links by IP address or localhost, not through a tunnel or a name it doesn't know; this one "
      .. "is %s. Its log says why.", address.host),
  }
end

local function wrong_server(address)
  return {
    format("What answers at %s, port %d is not mcp-bridge.", address.host, address.port),
    "Check the port: the bridge's link port is 3001 by default.",
  }
end

local function too_many()
  return {
    "This computer has too many websockets open.",
    "Close other programs that use them, or reboot it.",
  }
end

local function bad_url(address)
  return { "The game can't read the URL " .. address.base, "It should look like ws://192.168.1.20:3001" }
end

-- Substrings of what the game says, in every version (CraftOS-PC's among them), and what each means. A fatal failure is
-- one that no later attempt can mend. The first that matches counts.
local MEANINGS = {
  { "Domain not permitted", not_permitted },
  { "Websocket connections are disabled", websockets_off, fatal = true },
  { "Too many websockets", too_many },
  { "URL malformed", bad_url, fatal = true },
  { "Invalid scheme", bad_url, fatal = true },
  { "Unknown host", unknown_host },
  { "Host not found", unknown_host },
  { "401", unauthorized },
  { "Not authorized", unauthorized },
  { "403", forbidden },
  { "Forbidden", forbidden },
  { "Invalid handshake", wrong_server },
  { "WebSocket Exception", wrong_server },
  { "Could not connect", no_bridge },
  { "Connection refused", no_bridge },
  { "onnection timed out", no_bridge },
  { "Timed out", no_bridge },
  { "Timeout", no_bridge },
}

--- Explains why an attempt to connect failed.
-- @tparam string reason What the game said.
-- @tparam table address See @{url.parse}.
-- @tparam[opt] string host `_HOST`, the present game's by default.
-- @treturn table `lines` to show; `fatal`: no later attempt can succeed.
function advice.explain(reason, address, host)
  local this = game.read(host)
  for i = 1, #MEANINGS do
    local meaning = MEANINGS[i]
    if find(reason, meaning[1], 1, true) then
      return { lines = meaning[2](address, this), fatal = meaning.fatal or false }
    end
  end
  return { lines = { "The connection failed: " .. reason }, fatal = false }
end

--- Explains that the computer has no HTTP API.
-- @tparam[opt] string host
-- @treturn {string,...}
function advice.http_off(host)
  return http_off(nil, game.read(host))
end

--- Explains that the computer has no websockets.
-- @tparam[opt] string host
-- @treturn {string,...}
function advice.websockets_off(host)
  return websockets_off(nil, game.read(host))
end

return advice

end
modules["mcp-computer.agent"] = function()
--- The agent: one loop that serves the link, the jobs and the player's Ctrl+T, and outlives what goes wrong in them.

local advice = require("mcp-computer.advice")
local courier = require("mcp-computer.courier")
local describe = require("mcp-computer.describe")
local identity = require("mcp-computer.identity")
local incoming = require("mcp-computer.incoming")
local jobs = require("mcp-computer.jobs")
local legacy = require("mcp-computer.legacy")
local link = require("mcp-computer.link")
local memory = require("mcp-computer.memory")
local requests = require("mcp-computer.requests")

local find, format, sub = string.find, string.format, string.sub
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

-- If it has not come by then, it was lost in a full event queue.
local LOST_TURN_SECONDS = 0.25

-- The player's input: for the player's programs, never for a job.
local PLAYER_EVENTS = {
  char = true, file_transfer = true, key = true, key_up = true, mouse_click = true, mouse_drag = true,
  mouse_move = true, mouse_scroll = true, mouse_up = true, paste = true, terminate = true,
}

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
    report(self, { "Link lost: " .. reason, "Linking again..." })
  end
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
  job.outcome = { ok = true, returns = describe.values({ n = 0 }, 1) }
  job.is_answered = true
  if job.request then self.requests:job_halts(job) else self.legacy:job_ended(job) end
end

--- Makes an agent.
-- @tparam table options
--   `address`: see @{url.parse}; `version`; `token` or nil; `program`: see @{environment.new}.
-- @treturn agent
function agent.new(options)
  local clock = new_clock()
  local self = setmetatable({
    address = options.address,
    boot = identity.draw_boot(),
    clock = clock,
    timer = nil,        -- the one timer that runs
    timer_due = nil,    -- when it is to fire, in seconds
    turn_due = nil,     -- when the agent's turn comes at the latest, while it has yielded with work to do
    fatal = nil,        -- why the agent has to end
    last_report = nil,  -- the failure that is on the screen
    check_url = nil,    -- the address that the game is asked to check
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
  self.memory = memory.new(clock)
  self.courier = courier.new({ name = sub(self.boot, -6), clock = clock, memory = self.memory, send = send })
  self.requests = requests.new({
    boot = self.boot, clock = clock, courier = self.courier, jobs = self.jobs, memory = self.memory,
  })
  self.incoming = incoming.new({
    clock = clock, send = send,
    on_frame = function(connection, frame, began_at) on_frame(self, connection, frame, began_at) end,
  })
  self.legacy = legacy.new({ jobs = self.jobs, send = send })
  self.link = link.new({
    address = options.address,
    boot = self.boot,
    clock = clock,
    hello = function()
      return identity.hello({
        boot = self.boot, version = options.version, token = options.token, jobs = self.requests:known_jobs(),
      })
    end,
    on_linked = function() on_linked(self) end,
    on_version2 = function(connection) on_version2(self, connection) end,
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

-- The earliest of times that may be nil.
local function earliest(a, b)
  if a and b then return a < b and a or b end
  return a or b
end

-- Keeps one timer running for what the agent waits for. A timer that should have fired by now may have been lost in a
-- full event queue: it is started anew.
local function arm(self)
  local due = earliest(earliest(self.link.wake_at, self.courier.wake_at), self.turn_due)
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

-- Deals with one event: the link's, the agent's own, or the world's.
local function handle(self, event)
  local name = event[1]
  if name == "timer" and event[2] == self.timer then
    self.timer = nil
  elseif name == TURN_EVENT then
    self.turn_due = nil
  elseif name == "http_check" and self.check_url and event[2] == self.check_url then
    checked(self, event[3], event[4])
  elseif not PLAYER_EVENTS[name] and not self.link:handle(event) then
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

-- Runs jobs, and sends what they have to say. Returns whether there is more to do at once.
local function work(self)
  local started = self.clock()
  local busy = self.jobs:has_waiting() and protected(self, self.jobs.run, self.jobs)
  self.link:held_up(self.clock() - started)
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

end
modules["mcp-computer.base64"] = function()
--- Base64 (RFC 4648, section 4): how bytes travel in parts.

local byte, char, find, gsub, sub = string.byte, string.char, string.find, string.gsub, string.sub
local concat = table.concat

local base64 = {}

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
-- Bytes and characters that are worked on in one step of the loops.
local STEP, STEP_CHARS = 12, 16
-- Steps after which there may be a pause.
local STEPS_WITHOUT_PAUSE = 512

local code_of, value_of = {}, {}
for value = 0, 63 do
  code_of[value] = byte(ALPHABET, value + 1)
  value_of[code_of[value]] = value
end

local function no_pause() end

-- The codes of the four characters for three bytes.
local function four(a, b, c)
  local low_a, low_b, low_c = a % 4, b % 16, c % 64
  return code_of[(a - low_a) / 4], code_of[low_a * 16 + (b - low_b) / 16], code_of[low_b * 4 + (c - low_c) / 64],
    code_of[low_c]
end

-- The characters for the last one or two bytes.
local function encode_rest(rest)
  local a, b, c = byte(rest, 1, 3)
  local first, second, third = four(a, b or 0, c or 0)
  if not b then return char(first, second) .. "==" end
  return char(first, second, third) .. "="
end

--- @tparam string s Any bytes.
-- @tparam[opt] function pause Called now and then.
-- @treturn string
function base64.encode(s, pause)
  pause = pause or no_pause
  s = concat({ s }) -- CraftOS-PC copies a part of a string whenever it is looked at; now it is one of its own
  local out, count = {}, 0
  local whole = #s - #s % STEP
  -- Four times `four`, written out: calls would take longer than the arithmetic.
  for at = 1, whole, STEP do
    local a, b, c, d, e, f, g, h, i, j, k, l = byte(s, at, at + STEP - 1)
    local low_a, low_b, low_c, low_d, low_e, low_f = a % 4, b % 16, c % 64, d % 4, e % 16, f % 64
    local low_g, low_h, low_i, low_j, low_k, low_l = g % 4, h % 16, i % 64, j % 4, k % 16, l % 64
    count = count + 1
    out[count] = char(
      code_of[(a - low_a) / 4], code_of[low_a * 16 + (b - low_b) / 16], code_of[low_b * 4 + (c - low_c) / 64],
      code_of[low_c],
      code_of[(d - low_d) / 4], code_of[low_d * 16 + (e - low_e) / 16], code_of[low_e * 4 + (f - low_f) / 64],
      code_of[low_f],
      code_of[(g - low_g) / 4], code_of[low_g * 16 + (h - low_h) / 16], code_of[low_h * 4 + (i - low_i) / 64],
      code_of[low_i],
      code_of[(j - low_j) / 4], code_of[low_j * 16 + (k - low_k) / 16], code_of[low_k * 4 + (l - low_l) / 64],
      code_of[low_l])
    if count % STEPS_WITHOUT_PAUSE == 0 then pause() end
  end
  for at = whole + 1, #s - 2, 3 do
    out[#out + 1] = char(four(byte(s, at, at + 2)))
  end
  if #s % 3 > 0 then out[#out + 1] = encode_rest(sub(s, #s - #s % 3 + 1)) end
  return concat(out)
end

-- Three bytes for the values of four characters.
local function three(a, b, c, d)
  local low_b, low_c = b % 16, c % 4
  return a * 4 + (b - low_b) / 16, low_b * 16 + (c - low_c) / 4, low_c * 64 + d
end

--- @tparam string s
-- @tparam[opt] function pause Called now and then.
-- @treturn string|nil Nil if it isn't base64, with its padding.
function base64.decode(s, pause)
  pause = pause or no_pause
  if #s % 4 ~= 0 or not find(s, "^[A-Za-z0-9+/]*=?=?$") then return nil end
  local _, padding = gsub(sub(s, -2), "=", "")
  s = concat({ s })
  local out, count = {}, 0
  local whole = #s - (padding > 0 and 4 or 0)
  local stepped = whole - whole % STEP_CHARS
  -- Four times `three`, written out.
  for at = 1, stepped, STEP_CHARS do
    local a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p = byte(s, at, at + STEP_CHARS - 1)
    b, c, f, g, j, k, n, o = value_of[b], value_of[c], value_of[f], value_of[g],
      value_of[j], value_of[k], value_of[n], value_of[o]
    local low_b, low_c, low_f, low_g = b % 16, c % 4, f % 16, g % 4
    local low_j, low_k, low_n, low_o = j % 16, k % 4, n % 16, o % 4
    count = count + 1
    out[count] = char(
      value_of[a] * 4 + (b - low_b) / 16, low_b * 16 + (c - low_c) / 4, low_c * 64 + value_of[d],
      value_of[e] * 4 + (f - low_f) / 16, low_f * 16 + (g - low_g) / 4, low_g * 64 + value_of[h],
      value_of[i] * 4 + (j - low_j) / 16, low_j * 16 + (k - low_k) / 4, low_k * 64 + value_of[l],
      value_of[m] * 4 + (n - low_n) / 16, low_n * 16 + (o - low_o) / 4, low_o * 64 + value_of[p])
    if count % STEPS_WITHOUT_PAUSE == 0 then pause() end
  end
  for at = stepped + 1, whole, 4 do
    local a, b, c, d = byte(s, at, at + 3)
    out[#out + 1] = char(three(value_of[a], value_of[b], value_of[c], value_of[d]))
  end
  if padding > 0 then
    local a, b, c = byte(s, whole + 1, whole + 3)
    local first, second = three(value_of[a], value_of[b], padding == 1 and value_of[c] or 0, 0)
    out[#out + 1] = padding == 1 and char(first, second) or char(first)
  end
  return concat(out)
end

return base64

end
modules["mcp-computer.courier"] = function()
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
    connection = nil,  -- the present one, if its bridge speaks version 2
    requests = {},     -- those that have, or may have, something to send, oldest first
    replay = {},       -- those that are told to a bridge that was linked just now, before all else
    turn = 0,          -- the request, as an index of `requests`, that had its turn last
    wake_at = nil,     -- when there is something to do, in seconds
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
function courier:accept(id)
  send(self, { type = "accepted", id = id })
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
  })
  if problem == "too-large" and frame.text ~= "" then
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

end
modules["mcp-computer.describe"] = function()
--- Any Lua value as something the link can carry: descriptors for what code returned, text for what it threw.
--
-- Everything here may run on values that user code made to be hostile: only raw access is used, and the one metamethod
-- that is called (`__tostring` of an error) is called protected, in the job's own coroutine.

local guard = require("mcp-computer.guard")
local json = require("mcp-computer.json")
local number = require("mcp-computer.number")

local byte, find, format, gsub, sub = string.byte, string.find, string.format, string.gsub, string.sub
local concat, sort = table.concat, table.sort
local getmetatable, next, pcall, rawget, tostring, type = getmetatable, next, pcall, rawget, tostring, type

local describe = {}

--- A table's text is cut near this many bytes, and says how much is missing.
describe.REPR_LIMIT = 32 * 1024
--- An error's text is cut at this many bytes.
describe.ERROR_LIMIT = 8 * 1024

-- Tables inside more tables than this are shown as `{ ... }`.
local MAX_DEPTH = 12
-- A table's text has no room for more keys than this; sorting all of a large one would take too long.
local MAX_KEYS = 4096

local RESERVED = {}
for word in string.gmatch("and break do else elseif end false for function goto if in local nil not or repeat return "
  .. "then true until while", "%a+") do
  RESERVED[word] = true
end

local ESCAPES = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ["\""] = "\\\"", ["\\"] = "\\\\" }

local function escape_char(c)
  return ESCAPES[c] or format("\\%03d", byte(c))
end

local function number_text(n)
  if number.is_finite(n) then return number.format(n) end
  if n ~= n then return "0/0" end
  return n > 0 and "math.huge" or "-math.huge"
end

-- The text of a function, thread or userdata; a userdata's `__tostring` may be anything.
local function opaque_text(value)
  local ok, shown = guard.pcall(tostring, value)
  return ok and type(shown) == "string" and shown or type(value)
end

local function limited(s, limit)
  if #s <= limit then return s end
  return sub(s, 1, limit) .. "... (" .. number.format(#s - limit) .. " more bytes)"
end

-- The pieces of a text under construction, and how many bytes it may still grow.
local function new_writer(limit)
  return { left = limit, count = 0, path = {} }
end

local function emit(writer, piece)
  writer.count = writer.count + 1
  writer[writer.count] = piece
  writer.left = writer.left - #piece
end

local function write_string(writer, s)
  local room = writer.left > 0 and writer.left or 0
  local shown = #s > room and sub(s, 1, room) or s
  emit(writer, "\"" .. gsub(shown, "[%c\"\\]", escape_char) .. "\"")
  if #shown < #s then emit(writer, "... (" .. number.format(#s - #shown) .. " more bytes)") end
end

local KEY_ORDER = { number = 1, string = 2, boolean = 3 }

local function key_before(a, b)
  local kind_a, kind_b = type(a), type(b)
  local order_a, order_b = KEY_ORDER[kind_a] or 4, KEY_ORDER[kind_b] or 4
  if order_a ~= order_b then return order_a < order_b end
  if order_a <= 2 then return a < b end
  return order_a == 3 and not a and b -- false before true; the rest has no order that means anything
end

-- Sorts keys and forgets those beyond MAX_KEYS; returns how many are left, and the last of them if some were forgotten.
local function keep_first(keys, count)
  sort(keys, key_before)
  for i = count, MAX_KEYS + 1, -1 do keys[i] = nil end
  if count < MAX_KEYS then return count end
  return MAX_KEYS, keys[MAX_KEYS]
end

-- The keys outside the sequence 1..length, in order (the first MAX_KEYS of them), and how many there are.
local function other_keys(t, length)
  local keys, kept, count = {}, 0, 0
  local bound -- keys after this one have no place any more
  for key in next, t do
    local in_sequence = type(key) == "number" and key >= 1 and key <= length and key % 1 == 0
    if not in_sequence then
      count = count + 1
      if bound == nil or key_before(key, bound) then
        kept = kept + 1
        keys[kept] = key
        if kept == 2 * MAX_KEYS then kept, bound = keep_first(keys, kept) end
      end
    end
  end
  keep_first(keys, kept)
  return keys, count
end

local write

local function write_key(writer, key, depth)
  local kind = type(key)
  if kind == "string" and find(key, "^[%a_][%w_]*$") and not RESERVED[key] then
    emit(writer, key .. " = ")
    return
  end
  emit(writer, "[")
  if kind == "string" then
    write_string(writer, key)
  elseif kind == "number" then
    emit(writer, number_text(key))
  else
    write(writer, key, depth)
  end
  emit(writer, "] = ")
end

local function write_table(writer, t, depth)
  if writer.path[t] then return emit(writer, "<cycle>") end
  if next(t) == nil then return emit(writer, "{}") end
  if depth >= MAX_DEPTH then return emit(writer, "{ ... }") end
  writer.path[t] = true
  local length = 0
  while rawget(t, length + 1) ~= nil do length = length + 1 end
  local keys, key_count = other_keys(t, length)
  local total, shown = length + key_count, 0
  emit(writer, "{ ")
  while shown < total and writer.left > 0 do
    if shown > 0 then emit(writer, ", ") end
    shown = shown + 1
    if shown <= length then
      write(writer, rawget(t, shown), depth + 1)
    else
      local key = keys[shown - length]
      if key == nil then -- beyond MAX_KEYS
        shown = shown - 1
        break
      end
      write_key(writer, key, depth + 1)
      write(writer, rawget(t, key), depth + 1)
    end
  end
  if shown < total then
    emit(writer, (shown > 0 and ", " or "") .. "... (" .. number.format(total - shown) .. " more)")
  end
  emit(writer, " }")
  writer.path[t] = nil
end

function write(writer, value, depth)
  local kind = type(value)
  if kind == "table" then
    write_table(writer, value, depth)
  elseif kind == "string" then
    write_string(writer, value)
  elseif kind == "number" then
    emit(writer, number_text(value))
  elseif kind == "nil" or kind == "boolean" then
    emit(writer, tostring(value))
  else
    emit(writer, opaque_text(value))
  end
end

--- A value as a Lua literal would show it: the sequence part first, then the other keys in order. Cycles, depth and
-- size are cut, and what is left out is said.
-- @param value
-- @tparam[opt] number limit Bytes, about; @{describe.REPR_LIMIT} by default.
-- @treturn string
function describe.repr(value, limit)
  local writer = new_writer(limit or describe.REPR_LIMIT)
  write(writer, value, 0)
  return concat(writer, "", 1, writer.count)
end

--- What a returned value looks like on the link (PROTOCOL.md, "Version 1").
-- @param value
-- @treturn table `{type, value}`, or `{type, repr}` for what JSON can't hold.
function describe.value(value)
  local kind = type(value)
  if kind == "nil" then return { type = "nil" } end
  if kind == "string" or kind == "boolean" then return { type = kind, value = value } end
  if kind == "number" then
    if number.is_finite(value) then return { type = kind, value = value } end
    return { type = kind, repr = number.name(value) }
  end
  if kind == "table" then return { type = kind, repr = describe.repr(value) } end
  return { type = kind, repr = limited(opaque_text(value), describe.REPR_LIMIT) }
end

--- The descriptors of a packed list of values, nils included.
-- @tparam table packed With its length in `n`.
-- @tparam number first The first to describe.
-- @treturn table A JSON array.
function describe.values(packed, first)
  local result = {}
  for i = first, packed.n do result[i - first + 1] = describe.value(packed[i]) end
  return json.array(result)
end

-- A metatable's field, unless the metatable is hidden or hostile.
local function has_tostring(value)
  local ok, meta = pcall(getmetatable, value)
  return ok and type(meta) == "table" and rawget(meta, "__tostring") ~= nil
end

--- What was thrown, as text. Errors may be tables, or anything.
-- @param value
-- @treturn string
function describe.error_text(value)
  local kind = type(value)
  if kind == "string" then return limited(value, describe.ERROR_LIMIT) end
  if kind == "table" and not has_tostring(value) then return describe.repr(value, describe.ERROR_LIMIT) end
  local ok, shown = guard.pcall(tostring, value)
  if ok and type(shown) == "string" then return limited(shown, describe.ERROR_LIMIT) end
  return kind == "table" and describe.repr(value, describe.ERROR_LIMIT) or kind
end

return describe

end
modules["mcp-computer.environment"] = function()
--- The globals that a job's code sees: everything the computer has, with its own `print`, and its writes kept apart.

local guard = require("mcp-computer.guard")

local find, format, gsub = string.find, string.format, string.gsub
local concat = table.concat
local error, next, pcall, select, setmetatable = error, next, pcall, select, setmetatable
local tostring, type = tostring, type
local globals = _G

local environment = {}

local function line_breaks(s)
  if not find(s, "\n", 1, true) then return 0 end
  local _, count = gsub(s, "\n", "")
  return count
end

-- What `print` shows of several arguments, or of one that is no string.
local function joined(count, ...)
  local parts = {}
  for i = 1, count do parts[i] = tostring((select(i, ...))) end
  return concat(parts, "\t")
end

-- `print`, `write` and `printError`, into the job's output instead of onto the screen. As the game's own, they return
-- how many lines they went down.
local function install_printing(env, output, on_much)
  local function print_line(...)
    local line, count = (...), select("#", ...)
    if count ~= 1 or type(line) ~= "string" then line = joined(count, ...) end
    if output:write(line .. "\n") then on_much() end
    return line_breaks(line) + 1
  end
  env.print = print_line
  env.printError = print_line
  function env.write(value)
    local kind = type(value)
    if kind ~= "string" and kind ~= "number" then
      error(format("bad argument #1 (expected string or number, got %s)", kind), 2)
    end
    local piece = tostring(value)
    if output:write(piece) then on_much() end
    return line_breaks(piece)
  end
end

-- `os.reboot` and `os.shutdown` never return: the answer has to leave before.
local function install_os(env, on_halt)
  local library = {}
  for name, value in next, globals.os do library[name] = value end
  for _, name in next, { "reboot", "shutdown" } do
    local halt = library[name]
    library[name] = function(...)
      on_halt("os." .. name)
      return halt(...)
    end
  end
  env.os = library
end

-- What the shell gives to programs and `_G` lacks.
local function install_program_globals(env, program)
  env.shell, env.multishell = program.shell, program.multishell
  env.require, env.package = program.require, program.package
  env.arg = { [0] = "exec-lua" }
  if not program.require then return end
  local ok, maker = pcall(program.require, "cc.require")
  if not ok or type(maker) ~= "table" or not maker.make then return end
  local made, require_function, package = pcall(maker.make, env, "")
  if made then env.require, env.package = require_function, package end
end

--- Makes a job's environment: it reads through to `_G`, and what is written stays in it.
-- @tparam table options
--   `output`: where what is printed goes; `on_much()`: called when its `write` returns true; `program`: the globals
--   that belong to the agent's program (`shell`, `multishell`, `require`, `package`); `on_halt(name)`: called before
--   the computer reboots or shuts down.
-- @treturn table
function environment.new(options)
  local env = {}
  setmetatable(env, { __index = globals })
  env._G = env
  install_program_globals(env, options.program)
  install_printing(env, options.output, options.on_much)
  install_os(env, options.on_halt)
  guard.install(env)
  return env
end

return environment

end
modules["mcp-computer.game"] = function()
--- Which game this is, and which of its files holds the settings of the HTTP API.

local find, match = string.find, string.match
local tonumber, type = tonumber, type
local globals = _G

local game = {}

--- The families of configuration files.
game.CRAFTOS_PC, game.CFG, game.COMMON_TOML, game.SERVER_TOML = "craftos-pc", "cfg", "common-toml", "server-toml"

-- Since this version of Minecraft some loaders keep the world's settings in `config/` (NeoForge).
local FIRST_WITH_CONFIG_FOLDER = 21

-- `1.113.1` as 113; `2.1` counts as later than every `1.x`.
local function minor_of(version)
  local major, minor = match(version or "", "^(%d+)%.(%d+)")
  if not major then return nil end
  return (tonumber(major) - 1) * 1000 + tonumber(minor)
end

--- Reads `_HOST`.
-- @tparam[opt] string host The present game's by default.
-- @treturn table `family` (one of the above), `minecraft` and `mod`: the second number of the versions, or nil.
function game.read(host)
  host = host or globals._HOST
  if type(host) ~= "string" then host = "" end
  local mod = minor_of(match(host, "ComputerCraft ([%d.]+)"))
  local minecraft = minor_of(match(host, "Minecraft ([%d.]+)"))
  local family = game.SERVER_TOML
  if find(host, "CraftOS-PC", 1, true) then
    family = game.CRAFTOS_PC
  elseif minecraft and minecraft <= 12 then
    family = game.CFG
  elseif minecraft and (minecraft <= 14 or minecraft == 15 and mod and mod < 88) then
    family = game.COMMON_TOML
  end
  return { family = family, minecraft = minecraft, mod = mod }
end

--- Where the settings of the HTTP API are.
-- @tparam table this From @{game.read}.
-- @treturn string The file.
-- @treturn string|nil What else helps to find it.
function game.config_file(this)
  if this.family == game.CRAFTOS_PC then return "config/global.json", "(in CraftOS-PC's data folder)" end
  if this.family == game.CFG then return "config/ComputerCraft.cfg" end
  if this.family == game.COMMON_TOML then return "config/computercraft-common.toml" end
  local where = "(single player: <world> is under saves/)"
  if not this.minecraft or this.minecraft >= FIRST_WITH_CONFIG_FOLDER then
    where = where .. "\nor, if there is none, config/computercraft-server.toml"
  end
  return "<world>/serverconfig/computercraft-server.toml", where
end

return game

end
modules["mcp-computer.guard"] = function()
--- The game's own stop ("Too long without yielding"), made uncatchable.
--
-- The game throws that error once into code that runs for seven seconds without yielding, and powers the computer off
-- if it then does not yield either: code that catches errors in a loop would take the agent down with it. In a job,
-- what catches errors hands this one on.

local find, gmatch, sub = string.find, string.gmatch, string.sub
local concat = table.concat
local error, next, type = error, next, type
local real_pcall, real_xpcall, real_resume = pcall, xpcall, coroutine.resume
local coroutine_library = coroutine
local traceback = debug and debug.traceback
local getinfo = debug and debug.getinfo

local guard = {}

local ABORT = "Too long without yielding"
-- A longer traceback is cut at this many bytes.
local TRACEBACK_LIMIT = 8 * 1024
-- The stack level, as `guard.traceback` sees it, of what called its caller.
local CALLER_OF_HANDLER = 3

-- As tracebacks name the file this is in: the agent's own frames are left out of them.
local own_name = getinfo and getinfo(1, "S").short_src

--- Whether an error is the game's stop.
-- @param thrown
-- @treturn boolean
function guard.is_abort(thrown)
  return type(thrown) == "string" and find(thrown, ABORT, 1, true) ~= nil
end

--- Stops code as the game would.
-- @tparam number level Which caller the error names, as for `error`.
function guard.abort(level)
  error(ABORT, level + 1)
end

-- Hands results on, but throws an abort again.
local function pass(ok, ...)
  if not ok and guard.is_abort((...)) then error((...), 0) end
  return ok, ...
end

--- `pcall`, for the job's own code and for what is done with its values.
function guard.pcall(...)
  return pass(real_pcall(...))
end

-- What a handler returns, or an abort that was thrown into it.
local function handled(ok, ...)
  if not ok and not guard.is_abort((...)) then error((...), 0) end
  return ...
end

-- What a handler makes of an error is all that `xpcall` returns of it, so no handler gets to see an abort, and none may
-- fail of one, of which the game would say only that something failed. `debug.traceback` keeps the message anyway; it
-- is left as it is, since it shows where it was called from.
local function guarded_xpcall(run, handler, ...)
  if type(handler) ~= "function" or handler == traceback then return pass(real_xpcall(run, handler, ...)) end
  return pass(real_xpcall(run, function(thrown, ...)
    if guard.is_abort(thrown) then return thrown end
    return handled(real_pcall(handler, thrown, ...))
  end, ...))
end

local function guarded_resume(...)
  return pass(real_resume(...))
end

--- Puts guarded `pcall`, `xpcall` and `coroutine` into a job's environment.
-- @tparam table env
function guard.install(env)
  env.pcall = guard.pcall
  env.xpcall = guarded_xpcall
  local library = {}
  for name, value in next, coroutine_library do library[name] = value end
  library.resume = guarded_resume
  env.coroutine = library
end

local function is_own_frame(line)
  local at = find(line, "%S")
  return own_name ~= nil and at ~= nil and sub(line, at, at + #own_name) == own_name .. ":"
end

--- Where an error was thrown, without the agent's own frames. To be called by an error handler, directly.
-- @tparam string chunk The name of the job's chunk: the frames beneath its last one are the agent's.
-- @treturn string|nil Nil if there is no `debug`, or no frame of the chunk.
function guard.traceback(chunk)
  if not traceback then return nil end
  local trace = traceback("", CALLER_OF_HANDLER)
  if type(trace) ~= "string" then return nil end
  local lines, last = {}, 0
  for line in gmatch(trace, "[^\n]+") do
    if not is_own_frame(line) then
      lines[#lines + 1] = line
      if find(line, chunk .. ":", 1, true) then last = #lines end
    end
  end
  if last == 0 then return nil end
  return sub(concat(lines, "\n", 1, last), 1, TRACEBACK_LIMIT)
end

return guard

end
modules["mcp-computer.handlers"] = function()
--- Handlers of tools that a bridge ships here once: each is kept by its hash, until there is no room for it.

local setmetatable, type = setmetatable, type
local remove = table.remove

local handlers = {}
handlers.__index = handlers

--- Bytes of source that are kept in all.
handlers.LIMIT = 256 * 1024
-- Longer hashes are none.
local HASH_LIMIT = 64

--- @treturn handlers
function handlers.new()
  return setmetatable({
    by_hash = {},  -- sources
    order = {},    -- hashes, the one that was used longest ago first
    size = 0,      -- bytes of all sources
  }, handlers)
end

local function move_to_end(order, hash)
  for i = 1, #order do
    if order[i] == hash then
      remove(order, i)
      break
    end
  end
  order[#order + 1] = hash
end

--- A source that is kept.
-- @tparam string hash
-- @treturn string|nil
function handlers:find(hash)
  local source = self.by_hash[hash]
  if source then move_to_end(self.order, hash) end
  return source
end

--- Keeps a source, and forgets those that were used longest ago if there is no room.
-- @tparam string hash
-- @tparam string source
function handlers:keep(hash, source)
  if type(hash) ~= "string" or #hash > HASH_LIMIT or #source > handlers.LIMIT then return end
  local known = self.by_hash[hash]
  if known then self.size = self.size - #known end
  self.by_hash[hash] = source
  self.size = self.size + #source
  move_to_end(self.order, hash)
  while self.size > handlers.LIMIT do
    local oldest = remove(self.order, 1)
    self.size = self.size - #self.by_hash[oldest]
    self.by_hash[oldest] = nil
  end
end

return handlers

end
modules["mcp-computer.identity"] = function()
--- Who this computer is, and what it says of itself in its hello.

local json = require("mcp-computer.json")

local floor, random = math.floor, math.random
local byte, format, gsub, sub = string.byte, string.format, string.gsub, string.sub
local pcall, tostring, type = pcall, tostring, type
local globals = _G
local computer_id, computer_label, clock, epoch = os.getComputerID, os.getComputerLabel, os.clock, os.epoch

local identity = {}

--- The version of the link protocol that the agent speaks; it also understands version 1.
identity.PROTOCOL = 2
--- The longest message, in bytes, that the game lets through by default, both ways.
identity.MAX_MESSAGE = 131072

local DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

local function base36(n, length)
  local result = ""
  for _ = 1, length do
    local digit = n % 36
    result = sub(DIGITS, digit + 1, digit + 1) .. result
    n = floor(n / 36)
  end
  return result
end

--- Draws a name for one start of the agent, of letters and digits.
-- @treturn string
function identity.draw_boot()
  local address = gsub(tostring({}), "%W", "")
  local mixed = 0
  for i = 1, #address do mixed = (mixed * 31 + byte(address, i)) % 36 ^ 4 end
  local seconds = floor(clock() * 1000) + computer_id() * 7919
  return base36(epoch("utc"), 8) .. base36(floor(random() * 36 ^ 4), 4) .. base36((mixed + seconds) % 36 ^ 4, 4)
end

--- @treturn number
function identity.id()
  return computer_id()
end

--- How this computer is named to people: `12 (Label: base-turtle)`, `12 (Label: nil)`. The label may change at any
-- time, so it is read anew.
-- @treturn string
function identity.name()
  local label = computer_label()
  if label == "" then label = nil end
  return format("%d (Label: %s)", computer_id(), tostring(label))
end

local function kind()
  if globals.commands then return "command" end
  if globals.turtle then return "turtle" end
  if globals.pocket then return "pocket" end
  return "computer"
end

local function is_advanced()
  local ok, colour = pcall(function() return globals.term.isColour() end)
  return ok and colour == true
end

--- The first frame of a link (PROTOCOL.md, "Handshake").
-- @tparam table options `version` of the agent, `boot`, `token` (or nil), `jobs`: ids still known.
-- @treturn table
function identity.hello(options)
  local width, height = globals.term.getSize()
  local host = globals._HOST
  return {
    type = "hello",
    computerId = computer_id(),
    computerLabel = computer_label(),
    protocol = identity.PROTOCOL,
    agent = { name = "mcp-computer", version = options.version },
    boot = options.boot,
    computer = {
      kind = kind(),
      advanced = is_advanced(),
      host = type(host) == "string" and host or nil,
      width = width,
      height = height,
    },
    policy = "full",
    capabilities = json.array({ "cancel", "output", "parts", "jobs", "exclusive", "handlers" }),
    maxMessage = identity.MAX_MESSAGE,
    token = options.token,
    jobs = json.array(options.jobs),
  }
end

return identity

end
modules["mcp-computer.incoming"] = function()
--- Frames that come in parts, put together (PROTOCOL.md, "Parts").
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

end
modules["mcp-computer.job"] = function()
--- One request that runs user code: a coroutine with its own environment, output, terminal and event filter.

local describe = require("mcp-computer.describe")
local environment = require("mcp-computer.environment")
local guard = require("mcp-computer.guard")
local json = require("mcp-computer.json")

local byte, find = string.byte, string.find
local create, resume, running = coroutine.create, coroutine.resume, coroutine.running
local status, yield = coroutine.status, coroutine.yield
local error, load, next, pcall, rawequal, select = error, load, next, pcall, rawequal, select
local setmetatable, type, xpcall = setmetatable, type, xpcall
local unpack = table.unpack or unpack
local term_current, term_redirect = term.current, term.redirect
local globals = _G

local job = {}
job.__index = job

-- How code is called in its errors: `exec-lua:1: ...`. A handler has a name of its own.
local CHUNK = "exec-lua"
-- The first byte of compiled Lua, which is not accepted.
local BINARY_MARK = 27

-- What a job yields to pause: it is resumed without an event. No user code can get hold of it.
local PAUSE = {}
-- A job pauses after this long: while its answer is written, and while its code prints without yielding.
local ANSWERING_SECONDS, PRINTING_SECONDS = 0.005, 0.02
-- The game's limit for code that doesn't yield, which a pause must not lift.
local LIMIT_SECONDS = 7

-- The stack level of what called `print`, as `guard.abort` counts from `give_way`.
local CALLER_OF_PRINT = 4

local YIELD_HINT = "The game stops code that runs for about 7 seconds without yielding. Yield now and then: sleep(0), "
  .. "or os.queueEvent(\"x\") os.pullEvent(\"x\") where a tick is too long."

local OVERFLOW_HINT = "Most likely the stack overflowed: a function that calls itself without end."

local function pack(...)
  return { n = select("#", ...), ... }
end

-- An expression, or else statements; the statements' error counts. A handler's source is statements.
local function compile(self, env)
  local code, name = self.code, self.chunk
  if byte(code, 1) == BINARY_MARK then return nil, name .. ":1: compiled Lua is not accepted" end
  local handler = self.setup.handler
  if not handler or not handler.method then
    local chunk = load("return " .. code, "=" .. name, "t", env)
    if chunk then return chunk end
  end
  return load(code, "=" .. name, "t", env)
end

-- What of a handler is called: its source, or a function of the table that it returns.
local function call_handler(self, chunk)
  local handler = self.setup.handler
  local arguments = handler.arguments
  if not handler.method then return chunk(unpack(arguments, 1, arguments.n)) end
  local exports = chunk()
  if type(exports) ~= "table" or type(exports[handler.method]) ~= "function" then
    error(self.chunk .. " must return a table with the function '" .. handler.method .. "'", 0)
  end
  return exports[handler.method](unpack(arguments, 1, arguments.n))
end

-- Globals that only some computers have, and what to say where they lack.
local PARTIAL_GLOBALS = {
  turtle = "Only turtles have `turtle`; this computer isn't one.",
  pocket = "Only pocket computers have `pocket`; this computer isn't one.",
  commands = "Only command computers have `commands`; this computer isn't one.",
  multishell = "Only advanced computers have `multishell`.",
  http = "The HTTP API is off on this computer.",
}

local function hint_for(message, code)
  if guard.is_abort(message) then return YIELD_HINT end
  if not find(message, "attempt to", 1, true) or not find(message, "nil", 1, true) then return nil end
  for name, hint in next, PARTIAL_GLOBALS do
    if globals[name] == nil and find(message, "'" .. name .. "'", 1, true) then return hint end
  end
  if find(code, "peripheral%.wrap") or find(code, "peripheral%.find") then
    return "peripheral.wrap and peripheral.find return nil when there is no such peripheral; peripheral.getNames() "
      .. "lists those there are."
  end
  return nil
end

-- The outcome of code that threw something.
local function failure(self, message, traceback)
  return {
    ok = false,
    kind = guard.is_abort(message) and "timeout" or "runtime",
    message = message,
    traceback = traceback,
    hint = hint_for(message, self.code),
  }
end

-- Lets others run in the midst of code that prints much, where it can be: neither in a coroutine of its own, nor within
-- a function of the game that calls it. For the code nothing happens: events wait, and its time goes on counting.
local function give_way(self)
  local ran = self.clock() - self.resumed_at
  if ran < PRINTING_SECONDS or running() ~= self.thread then return end
  if self.ran + ran >= LIMIT_SECONDS then guard.abort(CALLER_OF_PRINT) end
  if pcall(yield, PAUSE) then self.ran = self.ran + ran end
end

-- Runs the code, and describes what comes of it.
local function run(self, chunk)
  local call = chunk
  if self.setup.handler then
    call = function() return call_handler(self, chunk) end
  end
  local results = pack(xpcall(call, function(thrown)
    local trace = guard.traceback(self.chunk)
    return { thrown = thrown, traceback = trace }
  end))
  if results[1] then
    if not self.setup.handler then return { ok = true, returns = describe.values(results, 2) } end
    local values = json.array({})
    for i = 2, results.n do values[i - 1] = results[i] == nil and json.null or results[i] end
    return { ok = true, result = { values = values } }
  end
  local caught = results[2]
  if type(caught) == "table" then return failure(self, describe.error_text(caught.thrown), caught.traceback) end
  -- The handler had no stack left to run on.
  local outcome = failure(self, describe.error_text(caught))
  outcome.hint = outcome.hint or OVERFLOW_HINT
  return outcome
end

-- What the job's coroutine runs: all that takes time, from compiling the code to writing the answer, so that it meets
-- the same limits as the code.
local function body(self, env)
  local chunk, problem = compile(self, env)
  local outcome
  if chunk then
    outcome = run(self, chunk)
  else
    outcome = { ok = false, kind = "syntax", message = describe.error_text(problem) }
  end
  self.is_answering = true
  local write_answer = self.setup.answer
  if write_answer then
    self.answer = write_answer(outcome, function()
      if self.clock() - self.resumed_at >= ANSWERING_SECONDS then yield(PAUSE) end
    end)
  end
  self.outcome = outcome
end

--- Makes a job; nothing of it runs before the first @{job:resume}.
-- @param id Its request's.
-- @tparam string code
-- @tparam table setup Its version's affairs:
--   `output`: where what it prints goes; `answer(outcome, pause)`: writes its answer, calling `pause` now and then, or
--   nil; `request`: kept in the job; `owner`: likewise; `handler`: `{name, method, arguments}` if the code is that of
--   a tool, whose values are returned as they are.
-- @tparam table options `program` (see @{environment.new}); `clock()`: seconds; `on_halt(job, name)`: called before the
--   computer halts.
-- @treturn job
function job.new(id, code, setup, options)
  local self = setmetatable({
    id = id,
    code = code,
    chunk = setup.handler and setup.handler.name or CHUNK,
    setup = setup,
    request = setup.request,
    owner = setup.owner,     -- to whom its answer goes
    output = setup.output,
    clock = options.clock,
    filter = nil,            -- the only event it waits for
    is_answering = false,    -- its code has ended, and its answer is being written
    is_paused = false,       -- it goes on without an event
    resumed_at = 0,          -- when it was resumed, in seconds
    ran = 0,                 -- how long it had run before, since it last yielded of its own accord
    outcome = nil,           -- once it has ended: {ok, returns} or {ok, kind, message, traceback, hint}
    answer = nil,            -- what `answer` wrote
    terminal = term_current(),
  }, job)
  local env = environment.new({
    output = self.output,
    on_much = function() give_way(self) end,
    program = options.program,
    on_halt = function(name) options.on_halt(self, name) end,
  })
  self.thread = create(function() body(self, env) end)
  return self
end

--- Ends the job, of which nothing more is to run then.
function job:cancel()
  self.thread = nil
  self.outcome = { ok = false, kind = "cancelled", message = "cancelled" }
end

--- Whether the job waits for this event.
-- @tparam string name
-- @treturn boolean
function job:wants(name)
  return not self.is_answering and (self.filter == nil or self.filter == name)
end

--- Runs the job until it yields or ends, on the terminal it last used.
-- @tparam[opt] table event Packed, with its length in `n`; none at the start and after a pause.
function job:resume(event)
  if not self.is_paused then self.ran = 0 end
  self.resumed_at = self.clock()
  local agent_terminal = term_current()
  if self.terminal ~= agent_terminal then pcall(term_redirect, self.terminal) end
  local ok, yielded
  if event then
    ok, yielded = resume(self.thread, unpack(event, 1, event.n))
  else
    ok, yielded = resume(self.thread)
  end
  self.terminal = term_current()
  if self.terminal ~= agent_terminal then pcall(term_redirect, agent_terminal) end
  self.is_paused = ok and rawequal(yielded, PAUSE)
  self.filter = type(yielded) == "string" and yielded or nil
  if not ok then
    -- It was stopped while its code was compiled, or its results were described.
    self.outcome = failure(self, describe.error_text(yielded))
  elseif status(self.thread) == "dead" and not self.outcome then
    self.outcome = failure(self, "the job ended without a result")
  end
end

return job

end
modules["mcp-computer.jobs"] = function()
--- All jobs of this computer: each gets every event it waits for, in order, and none can starve the agent.

local job = require("mcp-computer.job")
local guard = require("mcp-computer.guard")

local remove = table.remove
local setmetatable = setmetatable

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

--- Lets every job have an event of the world.
-- @tparam table event Packed, with its length in `n`.
function jobs:deliver(event)
  for i = 1, #self.order do
    local entry = self.order[i]
    local waiting = entry.last - entry.first + 1
    -- What a job will wait for is known only once it has seen all that came before.
    if waiting < INBOX_LIMIT and (waiting > 0 or entry.job:wants(event[1])) then
      entry.last = entry.last + 1
      entry.inbox[entry.last] = event
    end
  end
end

-- Whether a job has something to do.
local function has_work(entry)
  return entry.job.is_paused or entry.first <= entry.last
end

-- Lets a job go on after its pause, or gives it the first event of its inbox. Returns whether the game has stopped it:
-- the agent must yield then.
local function step(entry)
  local current = entry.job
  if current.is_paused then
    current:resume(nil)
  else
    local event = entry.inbox[entry.first]
    entry.inbox[entry.first] = nil
    entry.first = entry.first + 1
    if event and not current:wants(event[1]) then return false end
    current:resume(event or nil)
  end
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
-- @treturn boolean Whether it still ran.
function jobs:cancel(key)
  for i = 1, #self.order do
    if self.order[i].key == key then
      self.order[i].job:cancel()
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

end
modules["mcp-computer.json"] = function()
--- The link's JSON: linear in time, ASCII on the wire, and never an error, whatever the table or the text.
--
-- The game's own `textutils` can't be used: it mangles bytes, emits invalid JSON on Minecraft 1.12.2, refuses functions
-- and repeated tables, and takes time that grows with the square of the size.

local number = require("mcp-computer.number")
local text = require("mcp-computer.text")

local byte, find, sub = string.byte, string.find, string.sub
local concat, sort = table.concat, table.sort
local getmetatable, next, rawequal, rawget = getmetatable, next, rawequal, rawget
local setmetatable, tostring, type = setmetatable, tostring, type

local json = {}

json.TEXT = text.TEXT
json.BYTES = text.BYTES
json.RAW = text.RAW

--- Stands for JSON's `null`, where a Lua nil would be lost.
json.null = setmetatable({}, { __tostring = function() return "null" end })

-- Deeper values are cut (writing) or refused (reading).
local MAX_DEPTH = 64
-- Bytes of a string that are escaped at once.
local BLOCK = 64 * 1024
-- Values that are read at once.
local VALUES_WITHOUT_PAUSE = 1024

local ARRAY = {}

--- Marks a table as a JSON array, so that an empty one is written `[]`.
-- @tparam table t
-- @treturn table The same table.
function json.array(t)
  return setmetatable(t, ARRAY)
end

-- The length of a table that is to be an array, or nil if it is to be an object.
local function array_length(t)
  local length = 0
  while rawget(t, length + 1) ~= nil do length = length + 1 end
  if rawequal(getmetatable(t), ARRAY) then return length end
  if length == 0 then return nil end
  local count = 0
  for _ in next, t do count = count + 1 end
  return count == length and length or nil
end

local function key_text(key)
  local kind = type(key)
  if kind == "string" then return key end
  if kind == "number" then return number.is_finite(key) and number.format(key) or number.name(key) end
  if kind == "boolean" then return tostring(key) end
  return nil -- a key that has no name in JSON: the entry is left out
end

local function no_pause() end

-- Long strings are escaped piece by piece, but as text, where a character must not be cut.
local function write_string(out, s)
  out[#out + 1] = "\""
  if #s <= BLOCK or out.mode == json.TEXT then
    out[#out + 1] = text.escape(s, out.mode)
  else
    for at = 1, #s, BLOCK do
      out[#out + 1] = text.escape(sub(s, at, at + BLOCK - 1), out.mode)
      out.pause()
    end
  end
  out[#out + 1] = "\""
end

local write

-- `out` is what has been written so far, in pieces, and how: `mode`, `pause`, and the tables that are open in `path`.
local function write_array(out, t, length, depth)
  out[#out + 1] = "["
  for i = 1, length do
    if i > 1 then out[#out + 1] = "," end
    write(out, rawget(t, i), depth)
  end
  out[#out + 1] = "]"
end

local function write_object(out, t, depth)
  local names, values = {}, {}
  for key, value in next, t do
    local name = key_text(key)
    if name and values[name] == nil then
      names[#names + 1] = name
      values[name] = value
    end
  end
  sort(names)
  out[#out + 1] = "{"
  for i = 1, #names do
    if i > 1 then out[#out + 1] = "," end
    write_string(out, names[i])
    out[#out + 1] = ":"
    write(out, values[names[i]], depth)
  end
  out[#out + 1] = "}"
end

function write(out, value, depth)
  local kind = type(value)
  if kind == "string" then
    write_string(out, value)
  elseif kind == "number" and number.is_finite(value) then
    out[#out + 1] = number.format(value)
  elseif kind == "boolean" then
    out[#out + 1] = value and "true" or "false"
  elseif kind == "table" and not rawequal(value, json.null) and not out.path[value] and depth < MAX_DEPTH then
    out.path[value] = true
    local length = array_length(value)
    if length then
      write_array(out, value, length, depth + 1)
    else
      write_object(out, value, depth + 1)
    end
    out.path[value] = nil
  else
    out[#out + 1] = "null" -- nil, NaN, infinities, functions, cycles, and what is too deep
  end
end

--- Writes a value as JSON. What JSON can't say (functions, NaN, infinities, cycles) becomes `null`.
--
-- A table is an array if it is marked by @{json.array} or holds exactly the keys 1 to n; any other is an object, with
-- its keys in order.
-- @param value
-- @tparam[opt] string mode How strings are written: `json.TEXT` (default), `json.BYTES` or `json.RAW`.
-- @tparam[opt] function pause Called now and then while long strings are written.
-- @treturn string ASCII, but for `json.RAW`.
function json.encode(value, mode, pause)
  local out = { mode = mode or json.TEXT, pause = pause or no_pause, path = {} }
  write(out, value, 0)
  return concat(out)
end

local function skip_space(s, at)
  local _, last = find(s, "^[ \t\r\n]*", at)
  return last + 1
end

-- JSON strings hold no raw control characters. (`%c` finds a few more, which are allowed.)
local function has_control(raw)
  local at = find(raw, "%c")
  while at do
    if byte(raw, at) < 32 then return true end
    at = find(raw, "%c", at + 1)
  end
  return false
end

-- Readers return the value and where what follows it begins, or nil and an error. `how` holds `mode` and `pause`.
local function read_string(s, at, how)
  local mode = how.mode
  local parts = {}
  at = at + 1
  while true do
    local stop = find(s, "[\"\\]", at)
    if not stop then return nil, "a string does not end" end
    if stop > at then
      local raw = sub(s, at, stop - 1)
      if has_control(raw) then return nil, "a control character in a string" end
      parts[#parts + 1] = text.read_raw(raw, mode)
    end
    if byte(s, stop) == 34 then return concat(parts), stop + 1 end
    if mode == json.RAW then
      local rest, after = text.read_raw_string(s, stop, how.pause)
      if not rest then return nil, after end
      parts[#parts + 1] = rest
      return concat(parts), after
    end
    local piece, after = text.read_escape(s, stop, mode)
    if not piece then return nil, "an invalid escape in a string" end
    parts[#parts + 1] = piece
    at = after
  end
end

local read

local function read_array(s, at, how, depth)
  local result, count = json.array({}), 0
  at = skip_space(s, at + 1)
  if sub(s, at, at) == "]" then return result, at + 1 end
  while true do
    local value, after = read(s, at, how, depth)
    if value == nil then return nil, after end
    count = count + 1
    result[count] = value
    at = skip_space(s, after)
    local mark = sub(s, at, at)
    if mark == "]" then return result, at + 1 end
    if mark ~= "," then return nil, "an array lacks a comma or its end" end
    at = skip_space(s, at + 1)
  end
end

local function read_object(s, at, how, depth)
  local result = {}
  at = skip_space(s, at + 1)
  if sub(s, at, at) == "}" then return result, at + 1 end
  while true do
    if sub(s, at, at) ~= "\"" then return nil, "an object's key is not a string" end
    local key, after = read_string(s, at, how)
    if not key then return nil, after end
    at = skip_space(s, after)
    if sub(s, at, at) ~= ":" then return nil, "an object lacks a colon" end
    local value
    value, after = read(s, skip_space(s, at + 1), how, depth)
    if value == nil then return nil, after end
    result[key] = value
    at = skip_space(s, after)
    local mark = sub(s, at, at)
    if mark == "}" then return result, at + 1 end
    if mark ~= "," then return nil, "an object lacks a comma or its end" end
    at = skip_space(s, at + 1)
  end
end

function read(s, at, how, depth)
  how.count = how.count + 1
  if how.count % VALUES_WITHOUT_PAUSE == 0 then how.pause() end
  local mark = sub(s, at, at)
  if mark == "{" or mark == "[" then
    if depth >= MAX_DEPTH then return nil, "nested too deep" end
    return (mark == "{" and read_object or read_array)(s, at, how, depth + 1)
  end
  if mark == "\"" then return read_string(s, at, how) end
  if sub(s, at, at + 3) == "true" then return true, at + 4 end
  if sub(s, at, at + 4) == "false" then return false, at + 5 end
  if sub(s, at, at + 3) == "null" then return json.null, at + 4 end
  local value, after = number.read(s, at)
  if value then return value, after end
  return nil, "no value at character " .. number.format(at)
end

--- Reads JSON text. Arrays come marked (@{json.array}), `null` comes as @{json.null}.
-- @tparam string s
-- @tparam[opt] string mode How strings are read: `json.TEXT` (default), `json.BYTES` or `json.RAW`.
-- @tparam[opt] function pause Called now and then while much is read.
-- @return The value, or nil if the text is malformed.
-- @treturn string|nil What is wrong with it.
function json.decode(s, mode, pause)
  if type(s) ~= "string" then return nil, "not a string" end
  if mode == json.BYTES and text.is_raw(s) then mode = json.RAW end
  local how = { mode = mode or json.TEXT, pause = pause or no_pause, count = 0 }
  local value, after = read(s, skip_space(s, 1), how, 0)
  if value == nil then return nil, after end
  if skip_space(s, after) <= #s then return nil, "something follows the value" end
  return value
end

return json

end
modules["mcp-computer.legacy"] = function()
--- The requests of version 1: each is answered once, on the connection it came by, with all that it printed.

local methods = require("mcp-computer.methods")
local output = require("mcp-computer.output")
local reply = require("mcp-computer.reply")

local pcall, setmetatable, tostring, type = pcall, setmetatable, tostring, type

local legacy = {}
legacy.__index = legacy

--- @tparam table options `jobs`; `send(connection, message)`: see @{link:send}.
-- @treturn legacy
function legacy.new(options)
  return setmetatable({ jobs = options.jobs, transmit = options.send }, legacy)
end

local function send(self, connection, id, message)
  local sent, problem = self.transmit(connection, message)
  if not sent and problem == "too-large" then
    self.transmit(connection, reply.refused_by_game(connection, id, #message))
  end
end

-- Version 1 promises nothing about ids: another link may bring the same one for something else.
local function key_of(connection, id)
  return type(id) .. " " .. tostring(id) .. " " .. connection.url
end

local function start_job(self, connection, id, code)
  local key = key_of(connection, id)
  if self.jobs:find(key) then return nil end -- it is never run twice, and will be answered
  if not self.jobs:start(key, id, code, { owner = connection, output = output.new() }) then
    return methods.too_many_jobs()
  end
  return nil
end

--- Takes a frame, if it is a request.
-- @tparam table connection Where it came from, and its answer goes.
-- @tparam table frame
function legacy:handle(connection, frame)
  if frame.type ~= "request" or not reply.is_id(frame.id) then return end
  local ok, outcome = pcall(methods.call, frame, function(code, _, handler)
    if handler then return { ok = false, kind = "unsupported", message = "unknown method" } end
    return start_job(self, connection, frame.id, code)
  end)
  if not ok then
    outcome = { ok = false, kind = "runtime", message = "mcp-computer: internal error: " .. tostring(outcome) }
  end
  if outcome then send(self, connection, frame.id, reply.encode(connection, frame.id, outcome)) end
end

--- A request's job has ended.
-- @tparam job job
function legacy:job_ended(job)
  send(self, job.owner, job.id, reply.encode(job.owner, job.id, job.outcome, job.output:text()))
end

return legacy

end
modules["mcp-computer.link"] = function()
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
-- A peer that says it takes less than this is not believed: no error would fit.
local SMALLEST_LIMIT = 1024
-- Computers that lost one bridge together don't come back in the same tick.
local JITTER = 0.2

-- Frames that only a bridge of version 2 sends, besides requests with a `boot`.
local VERSION2_FRAMES = {
  ack = true, cancel = true, ["output-ack"] = true, part = true, ["part-ack"] = true, ping = true, pong = true,
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
    -- `heard` something, and whether it was `greeted` by a hello-ok.
    connection = nil,
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

local function retry_later(self, reason)
  local state = self.state
  local connection = drop(self)
  local now = self.options.clock()
  if connection and connection.linked_at and now - connection.linked_at >= GOOD_LINK_SECONDS then
    self.retry_seconds = FIRST_RETRY_SECONDS
  elseif connection and connection.greeted then
    self.retry_seconds = min(self.retry_seconds, RETRY_AFTER_LINK_SECONDS)
  end
  -- `random` may be seeded alike everywhere, so the computer's number is mixed in.
  local spread = ((random() + identity.id() * 0.618) % 1 * 2 - 1) * JITTER
  local delay = self.retry_seconds * (1 + spread)
  self.wake_at = now + max(FIRST_RETRY_SECONDS, min(LAST_RETRY_SECONDS, delay))
  self.retry_seconds = min(LAST_RETRY_SECONDS, self.retry_seconds * 2)
  self.state = link.WAITING
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
  if frame.retry == false then
    stop(self, reason)
  else
    retry_later(self, "the bridge says: " .. reason)
  end
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
      self:send(connection, json.encode({ type = "pong", n = frame.n }, connection.mode))
    end
  elseif kind ~= "pong" then -- a pong has been heard, which is all there is to it
    self.options.on_frame(connection, frame)
  end
end

local function closed(self, reason, code)
  local shown = type(reason) == "string" and reason ~= "" and reason or "the connection was closed"
  if type(code) == "number" then shown = shown .. format(" (code %d)", code) end
  retry_later(self, shown)
end

--- Takes an event, if it is one of the link's sockets.
-- @tparam table event Packed.
-- @treturn boolean Whether it was; nobody else is to see it then.
function link:handle(event)
  local name, address = event[1], event[2]
  if not SOCKET_EVENTS[name] or type(address) ~= "string" then return false end
  if sub(address, 1, #self.prefix) ~= self.prefix then return false end
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

--- Does what is due by now.
function link:tick()
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

--- Sends a frame, if its connection is still the present one. A link that can't send is opened again.
-- @tparam table connection
-- @tparam string message
-- @treturn boolean Whether it was sent.
-- @treturn string|nil `too-large` if the game refuses a message of this size, `busy` if too many messages wait in the
--   game; the link goes on then.
function link:send(connection, message)
  if connection ~= self.connection or not connection.socket then return false end
  local ok, problem = pcall(connection.socket.send, message)
  if ok then return true end
  if find(tostring(problem), "too large", 1, true) then return false, "too-large" end
  if find(tostring(problem), "Too many ongoing", 1, true) then return false, "busy" end
  retry_later(self, tostring(problem))
  return false
end

--- Closes the socket; the link does nothing more.
function link:close()
  drop(self)
  self.state = link.STOPPED
  self.wake_at = nil
end

return link

end
modules["mcp-computer.liveness"] = function()
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

end
modules["mcp-computer.memory"] = function()
--- The requests that the agent remembers, so that none runs twice, and the answers that it keeps until they arrive.

local stream = require("mcp-computer.stream")

local max = math.max
local remove, sort = table.remove, table.sort
local setmetatable = setmetatable

local memory = {}
memory.__index = memory

--- The states of a request: its job runs, its answer is kept, or its answer is no longer kept.
memory.RUNNING, memory.FINISHED, memory.GONE = "running", "finished", "gone"

--- Requests that are remembered at most, but for running ones.
memory.LIMIT = 4096
--- Answers that are kept at most.
memory.KEPT_LIMIT = 256
--- Bytes of the answers that are kept, and of what jobs have printed, together.
memory.BYTES_LIMIT = 2 * 1024 * 1024
--- Bytes of those answers that are too large for one message, which count apart.
memory.LARGE_BYTES_LIMIT = 32 * 1024 * 1024
-- From this size on an answer is a large one.
local LARGE = 128 * 1024

-- How long the answer of a job is kept.
local KEPT_SECONDS = 3600
-- Requests that are looked at when one is added, whether they can be forgotten.
local LOOKS = 4

-- Counts the bytes of an answer that is kept from now on (`sign` 1), or no longer (-1).
local function count_bytes(self, answer, sign)
  if #answer >= LARGE then
    self.large_bytes = self.large_bytes + sign * #answer
  else
    self.bytes = self.bytes + sign * #answer
  end
end

-- Lets go of a request's answer and of what it printed.
local function let_go(self, request)
  if request.answer then
    count_bytes(self, request.answer, -1)
    request.answer = nil
    for i = 1, #self.kept do
      if self.kept[i] == request then
        remove(self.kept, i)
        break
      end
    end
  end
  if request.stream then
    request.stream:release()
    request.stream = nil
  end
  request.state = memory.GONE
end

-- Lets go of the longest finished request that `wanted` accepts, but never of the latest.
local function evict(self, wanted)
  for i = 1, #self.kept - 1 do
    if wanted(self.kept[i]) then
      let_go(self, self.kept[i])
      return true
    end
  end
  return false
end

local function any()
  return true
end

local function is_large(request)
  return #request.answer >= LARGE
end

-- Whether letting go of a request makes room for answers and output.
local function counts(request)
  return not is_large(request) or request.stream ~= nil and request.stream:held() > 0
end

-- Drops output of the longest finished requests, until there is not too much: better than an answer, or than what the
-- running ones print now.
local function drop_output(self)
  for i = 1, #self.kept do
    local excess = self.budget.bytes - stream.LIMIT_OF_ALL
    if excess <= 0 then return end
    if self.kept[i].stream then self.kept[i].stream:drop(excess) end
  end
end

-- Lets go of the longest finished requests, until all that counts is within its limit.
local function make_room(self)
  while self.bytes + self.budget.bytes > memory.BYTES_LIMIT and evict(self, counts) do end
end

--- @tparam function clock Seconds.
-- @treturn memory An empty one.
function memory.new(clock)
  local self = setmetatable({
    clock = clock,
    by_key = {},      -- requests; see `memory:add`
    order = {},       -- the same, at indices first..last, by when they were last looked at
    first = 1,
    last = 0,
    kept = {},        -- those whose answer is kept, the longest finished first
    bytes = 0,        -- of their answers
    large_bytes = 0,
  }, memory)
  self.budget = stream.new_budget(function() drop_output(self) end, function() make_room(self) end)
  return self
end

--- @tparam string key
-- @treturn table|nil The request.
function memory:find(key)
  return self.by_key[key]
end

-- Whether a request may be forgotten.
local function is_over(request, now)
  if request.state == memory.RUNNING or now < request.expires then return false end
  return request.state == memory.GONE or not request.kept_until or now >= request.kept_until
end

--- Forgets requests whose time is over, if they are among those that it looks at.
-- @tparam number looks How many those are.
function memory:sweep(looks)
  local now = self.clock()
  local count = self.last - self.first + 1
  for _ = 1, looks < count and looks or count do
    local request = self.order[self.first]
    self.order[self.first] = nil
    self.first = self.first + 1
    local too_many = count > memory.LIMIT and request.state ~= memory.RUNNING
    if too_many or is_over(request, now) then
      let_go(self, request)
      self.by_key[request.key] = nil
      count = count - 1
    else
      self.last = self.last + 1
      self.order[self.last] = request
    end
  end
end

--- Takes on a request.
-- @tparam table request `key`; `state`; `number`: larger than those of all before; `expires`: until when it is
--   remembered at least, in seconds; `stream`: what its job prints, or nil.
function memory:add(request)
  self.by_key[request.key] = request
  self.last = self.last + 1
  self.order[self.last] = request
  self:sweep(LOOKS)
end

local function came_before(a, b)
  return a.number < b.number
end

--- All requests of which an answer is due or kept, the oldest first.
-- @treturn {table,...}
function memory:open()
  local result = {}
  for i = self.first, self.last do
    if self.order[i].state ~= memory.GONE then result[#result + 1] = self.order[i] end
  end
  sort(result, came_before)
  return result
end

--- Keeps a request's answer.
-- @tparam table request
-- @tparam string answer
-- @tparam boolean is_job Whether it is kept for long.
function memory:keep(request, answer, is_job)
  request.state = memory.FINISHED
  request.answer = answer
  request.kept_until = is_job and max(request.expires, self.clock() + KEPT_SECONDS) or request.expires
  self.kept[#self.kept + 1] = request
  count_bytes(self, answer, 1)
  while #self.kept > memory.KEPT_LIMIT and evict(self, any) do end
  while self.large_bytes > memory.LARGE_BYTES_LIMIT and evict(self, is_large) do end
  make_room(self)
end

--- Takes another answer in the place of the one that is kept.
-- @tparam table request
-- @tparam string answer
function memory:replace(request, answer)
  count_bytes(self, request.answer, -1)
  count_bytes(self, answer, 1)
  request.answer = answer
end

--- The answer has arrived.
-- @tparam table request
function memory:release(request)
  let_go(self, request)
end

return memory

end
modules["mcp-computer.methods"] = function()
--- What a bridge can ask of a computer: one function for each method of a request.

local identity = require("mcp-computer.identity")
local handlers = require("mcp-computer.handlers")
local jobs = require("mcp-computer.jobs")
local json = require("mcp-computer.json")

local next, rawequal, type = next, rawequal, type

-- The handlers that bridges have shipped here.
local shipped = handlers.new()

-- How a handler is called in errors where the bridge does not say.
local HANDLER = "handler"

local methods = {}

local function refusal(message, hint)
  return { ok = false, kind = "refused", message = message, hint = hint }
end

--- What is answered where there is no room for a job.
-- @treturn table An outcome.
function methods.too_many_jobs()
  return refusal("this computer already runs " .. jobs.LIMIT .. " jobs",
    "Wait until some have ended, or start mcp-computer anew on that computer.")
end

-- A method gets the request's `params`, a table, and `start` (see below). It returns the outcome, or nil if the answer
-- comes later, from a job; and whether the request was taken, not refused.
local by_name = {}

by_name["ping"] = function()
  return { ok = true, result = "pong from " .. identity.name() }, true
end

by_name["exec-lua"] = function(params, start)
  local code = params.code
  if type(code) ~= "string" then
    return refusal("exec-lua needs a string in params.code", "Send the Lua source to run as params.code."), false
  end
  local outcome = start(code, params)
  return outcome, outcome == nil
end

-- A value of a request as a handler gets it: JSON's `null` is nil.
local function plain(value)
  if type(value) ~= "table" then return value end
  if rawequal(value, json.null) then return nil end
  local result = {}
  for key, item in next, value do result[key] = plain(item) end
  return result
end

-- The source that a request means: the one it brings, or the one of its hash.
local function source_of(params)
  local source, hash = params.source, params.hash
  if type(source) == "string" then
    if type(hash) == "string" then shipped:keep(hash, source) end
    return source
  end
  return type(hash) == "string" and shipped:find(hash) or nil
end

by_name["run-handler"] = function(params, start)
  local source, given = source_of(params), params.arguments
  if not source then
    return {
      ok = false, kind = "source-wanted", message = "this agent does not have the handler's source",
      hint = "Send it as params.source.",
    }, false
  end
  if given ~= nil and type(given) ~= "table" then return refusal("params.arguments must be an array"), false end
  local arguments = { n = given and #given or 0 }
  for i = 1, arguments.n do arguments[i] = plain(given[i]) end
  local outcome = start(source, params, {
    name = type(params.name) == "string" and params.name or HANDLER,
    method = type(params.method) == "string" and params.method or nil,
    arguments = arguments,
  })
  return outcome, outcome == nil
end

--- Starts what a request asks for.
-- @tparam table request The frame: `id`, `method`, `params`.
-- @tparam function start Starts a job: `start(code, params, handler)` returns nil, or the outcome of one that can't
--   start. `handler`: see @{job.new}.
-- @treturn table|nil Its outcome (see @{reply}), or nil if a job was started.
-- @treturn boolean Whether it was taken, not refused.
function methods.call(request, start)
  local method = type(request.method) == "string" and by_name[request.method]
  if not method then
    return {
      ok = false,
      kind = "unsupported",
      message = "unknown method",
      hint = "This agent answers ping, exec-lua and run-handler. A newer one may know more: update it from the bridge.",
    }, false
  end
  local params = request.params
  if params == nil or rawequal(params, json.null) then params = {} end
  if type(params) ~= "table" then return refusal("params must be an object"), false end
  return method(params, start)
end

return methods

end
modules["mcp-computer.number"] = function()
--- Numbers as text that reads back as the same number, in any Lua of the game and any locale.

local find, format, gsub, sub = string.find, string.format, string.gsub, string.sub
local floor, huge = math.floor, math.huge
local tonumber = tonumber

local number = {}

-- Beyond this, doubles no longer hold every whole number.
local FIRST_INEXACT = 2 ^ 53
-- `%d` is 32 bits wide where a C `long` is.
local SAFE_FOR_D = 2 ^ 31
-- Fewest digits first: 14 is what Lua shows, 17 is always enough.
local FLOAT_FORMATS = { "%.14g", "%.15g", "%.16g", "%.17g" }
-- From this many digits on, some games' `tonumber` overflows unless it sees a float.
local LONG_INTEGER = 16

--- Whether a number is neither NaN nor infinite.
-- @tparam number n
-- @treturn boolean
function number.is_finite(n)
  return n == n and n ~= huge and n ~= -huge
end

--- A finite number as digits valid in JSON and in Lua: a whole number without exponent up to 2^53, else the shortest
-- form that reads back the same.
-- @tparam number n
-- @treturn string
function number.format(n)
  if n == 0 then return 1 / n < 0 and "-0.0" or "0" end
  if n == floor(n) and n > -FIRST_INEXACT and n < FIRST_INEXACT then
    local whole = format((n > -SAFE_FOR_D and n < SAFE_FOR_D) and "%d" or "%.0f", n)
    if find(whole, "^%-?%d+$") then return whole end
  end
  local shown
  for i = 1, #FLOAT_FORMATS do
    shown = format(FLOAT_FORMATS[i], n)
    if tonumber(shown) == n then break end
  end
  return (gsub(shown, ",", "."))
end

--- What NaN and the infinities are called on the link.
-- @tparam number n
-- @treturn string `nan`, `inf` or `-inf`.
function number.name(n)
  if n ~= n then return "nan" end
  return n > 0 and "inf" or "-inf"
end

--- Reads the JSON number that begins at a position.
-- @tparam string s
-- @tparam number at
-- @treturn number|nil Nil if there is none.
-- @treturn number Where what follows it begins.
function number.read(s, at)
  local _, last = find(s, "^%-?[1-9]%d*", at)
  if not last then
    _, last = find(s, "^%-?0", at)
    if not last then return nil, at end
  end
  local whole = last
  local _, fraction = find(s, "^%.%d+", last + 1)
  last = fraction or last
  local _, exponent = find(s, "^[eE][+-]?%d+", last + 1)
  last = exponent or last
  local token = sub(s, at, last)
  if last == whole and last - at >= LONG_INTEGER then token = token .. "e0" end
  return tonumber(token), last + 1
end

return number

end
modules["mcp-computer.options"] = function()
--- The command line.

local find, format, match, sub = string.find, string.format, string.match, string.sub

local options = {}

local ACTIONS = {
  help = "help", ["-help"] = "help", ["--help"] = "help", ["-h"] = "help",
  version = "version", ["-version"] = "version", ["--version"] = "version",
}
local VALUES = {
  ["-url"] = "url", ["--url"] = "url",
  ["-token"] = "token", ["--token"] = "token",
}

--- How the program is called.
-- @tparam string program Its name.
-- @treturn {string,...} Lines.
function options.usage(program)
  return {
    "Usage:",
    program .. " <ws-url>",
    program .. " -url <ws-url>",
    program .. " --version",
    "For example:",
    program .. " ws://192.168.1.20:3001",
    "If the bridge wants a token: --token <token>, or once: set mcp_computer.token <token>",
  }
end

--- Reads the arguments.
-- @tparam {string,...} args
-- @treturn table|nil `action` (`run`, `help` or `version`), `url`, `token`.
-- @treturn string|nil What is wrong with them.
function options.parse(args)
  local result = { action = "run" }
  local i = 1
  while i <= #args do
    local arg = args[i]
    local name, value = match(arg, "^(%-%-?%a+)=(.*)$")
    local key = VALUES[name or arg]
    if ACTIONS[arg] then
      return { action = ACTIONS[arg] }
    elseif key then
      if not name then
        i = i + 1
        value = args[i]
      end
      if not value or value == "" or not name and find(value, "^%-") then
        return nil, format("%s must be followed by its value", name or arg)
      end
      result[key] = value
    elseif sub(arg, 1, 1) == "-" then
      return nil, format("Unknown option %s", arg)
    elseif result.url then
      return nil, format("One URL is enough: %s is a second one", arg)
    else
      result.url = arg
    end
    i = i + 1
  end
  return result
end

return options

end
modules["mcp-computer.outgoing"] = function()
--- Frames that are too large for one message, on their way out in parts (PROTOCOL.md, "Parts").

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
    connection = nil,  -- the present one
    frames = {},       -- on their way, or waiting for that, oldest first; see `outgoing:send`
    count = 0,         -- frames so far
    turn = 0,          -- the frame, as an index of `frames`, that had its turn last
    wake_at = nil,     -- when there is something to do, in seconds
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

end
modules["mcp-computer.output"] = function()
--- What one job printed: all of it up to a bound, then its beginning and its end, with the bytes between counted.

local number = require("mcp-computer.number")

local sub = string.sub
local concat = table.concat

local output = {}
output.__index = output

--- The first bytes printed are kept up to here, the last ones up to `TAIL_LIMIT`: 96 KiB in all.
output.HEAD_LIMIT = 64 * 1024
output.TAIL_LIMIT = 32 * 1024

--- The line that stands where output is missing.
-- @tparam number bytes How many bytes are.
-- @treturn string
function output.gap(bytes)
  return "\n[... " .. number.format(bytes) .. " bytes of output left out ...]\n"
end

--- @treturn output An empty one.
function output.new()
  return setmetatable({
    total = 0,      -- bytes printed so far
    head = {},      -- pieces of the beginning
    head_size = 0,  -- their bytes
    tail = {},      -- pieces of the end, at indices first..last
    first = 1,
    last = 0,
    tail_size = 0,  -- their bytes: at most TAIL_LIMIT and one piece
  }, output)
end

--- Appends what was printed.
-- @tparam string piece
function output:write(piece)
  self.total = self.total + #piece
  local room = output.HEAD_LIMIT - self.head_size
  if room > 0 then
    local kept = #piece > room and sub(piece, 1, room) or piece
    self.head[#self.head + 1] = kept
    self.head_size = self.head_size + #kept
    piece = sub(piece, #kept + 1)
  end
  if #piece == 0 then return end
  if #piece > output.TAIL_LIMIT then piece = sub(piece, -output.TAIL_LIMIT) end
  self.last = self.last + 1
  self.tail[self.last] = piece
  self.tail_size = self.tail_size + #piece
  while self.tail_size - #self.tail[self.first] >= output.TAIL_LIMIT do
    self.tail_size = self.tail_size - #self.tail[self.first]
    self.tail[self.first] = nil
    self.first = self.first + 1
  end
end

--- All that is kept, with a line that counts what is not.
-- @treturn string
function output:text()
  local head = concat(self.head)
  if self.last < self.first then return head end
  local tail = sub(concat(self.tail, "", self.first, self.last), -output.TAIL_LIMIT)
  local dropped = self.total - #head - #tail
  if dropped == 0 then return head .. tail end
  return head .. output.gap(dropped) .. tail
end

return output

end
modules["mcp-computer.reply"] = function()
--- Answers to requests, as each version of the protocol writes them, and never larger than the peer accepts.

local json = require("mcp-computer.json")
local number = require("mcp-computer.number")
local output = require("mcp-computer.output")
local text = require("mcp-computer.text")

local find, gsub, sub = string.find, string.gsub, string.sub
local floor = math.floor
local type = type

local reply = {}

-- Values that hold this many times what a message may are not even written out to be measured.
local HOPELESS_FACTOR = 8

-- What holds an answer, as errors call it.
local MESSAGE, PARTS = "a message", "an answer in parts"

--- Bytes of an answer in parts, at most.
reply.PARTS_LIMIT = 16 * 1024 * 1024

-- An error of version 1 is one string: all of it that helps goes in.
local function error_line(outcome)
  local line = outcome.message
  if outcome.traceback then
    local _, frames = gsub(outcome.traceback, "\n", "")
    if frames > 1 then line = line .. "\n" .. outcome.traceback end
  end
  if outcome.hint and outcome.kind ~= "unsupported" then line = line .. "\n" .. outcome.hint end
  return line
end

local function frame_of(connection, id, outcome, printed)
  local frame = { type = "response", id = id, ok = outcome.ok }
  if outcome.ok then
    frame.result = outcome.result or { returns = outcome.returns, output = printed }
    return frame
  end
  if connection.version >= 2 then
    frame.error = {
      kind = outcome.kind, message = outcome.message, traceback = outcome.traceback, hint = outcome.hint,
    }
  else
    frame.error = error_line(outcome)
  end
  if printed then frame.result = { output = printed } end
  return frame
end

local function encode(connection, id, outcome, printed)
  return json.encode(frame_of(connection, id, outcome, printed), connection.mode)
end

-- The beginning of what was printed, so that it takes at most `room` bytes on the wire.
local function shortened(printed, room, mode)
  local gap = output.gap(#printed)
  room = room - #text.escape(gap, mode)
  if room <= 0 then return gap end
  local kept = #printed
  while true do
    local taken = #text.escape(sub(printed, 1, kept), mode)
    if taken <= room then break end
    -- What is kept shrinks by at least a tenth, and in one or two steps to about the room there is.
    kept = floor(kept * room / taken * 0.95)
  end
  return sub(printed, 1, kept) .. output.gap(#printed - kept)
end

-- Bytes of the strings among returned values: what they take on the wire is at least that.
local function size_of_values(returns)
  local size = 0
  for i = 1, #returns do
    local content = returns[i].value or returns[i].repr
    if type(content) == "string" then size = size + #content end
  end
  return size
end

local function too_large(size_text, limit, carrier)
  return {
    ok = false,
    kind = "too-large",
    message = "the result is too large: " .. size_text .. " bytes, where " .. carrier .. " may hold "
      .. number.format(limit),
    hint = "The code has run. Return less: a part of the value (string.sub, or some of the entries), or write it to a "
      .. "file and read that piece by piece.",
  }
end

--- Writes the answer to a request of version 1.
-- @tparam table connection Whose `mode`, `version` and `limit` count (see @{link.new}).
-- @tparam string id
-- @tparam table outcome `ok` with `result` or `returns`; or not, with `kind`, `message`, `traceback`, `hint`.
-- @tparam[opt] string printed What the job printed.
-- @treturn string
function reply.encode(connection, id, outcome, printed)
  local limit = connection.limit
  local least = outcome.returns and size_of_values(outcome.returns) or 0
  if least > limit * HOPELESS_FACTOR then
    return reply.encode(connection, id, too_large("over " .. number.format(least), limit, MESSAGE), printed)
  end
  local message = encode(connection, id, outcome, printed)
  if #message <= limit then return message end
  if printed then
    local bare = encode(connection, id, outcome, "")
    if #bare + #text.escape(output.gap(#printed), connection.mode) <= limit then
      return encode(connection, id, outcome, shortened(printed, limit - #bare, connection.mode))
    end
  end
  if outcome.kind == "too-large" then return encode(connection, id, outcome) end
  return reply.encode(connection, id, too_large(number.format(#message), limit, MESSAGE), printed)
end

--- The answer to send where the game itself refused to send one.
-- @tparam table connection
-- @tparam string id
-- @tparam number size Bytes of the refused message.
-- @treturn string
function reply.refused_by_game(connection, id, size)
  return encode(connection, id, too_large(number.format(size), connection.limit, MESSAGE))
end

local function raw(id, outcome, printed, pause)
  local frame = { type = "response", id = id, ok = outcome.ok, outputBytes = printed }
  if outcome.ok then
    frame.result = outcome.result or { returns = outcome.returns, outputBytes = printed }
  else
    frame.error = {
      kind = outcome.kind, message = outcome.message, traceback = outcome.traceback, hint = outcome.hint,
    }
  end
  return json.encode(frame, json.RAW, pause)
end

--- Writes the answer to a request of version 2, as it travels in parts.
-- @param id
-- @tparam table outcome As for @{reply.encode}.
-- @tparam[opt] number printed How many bytes the job printed.
-- @tparam[opt] function pause Called now and then.
-- @treturn string JSON text, its strings escaped as `json.RAW`.
function reply.raw(id, outcome, printed, pause)
  local limit = reply.PARTS_LIMIT
  local least = outcome.returns and size_of_values(outcome.returns) or 0
  if least > limit then return raw(id, too_large("over " .. number.format(least), limit, PARTS), printed) end
  local answer = raw(id, outcome, printed, pause)
  if #answer <= limit then return answer end
  return raw(id, too_large(number.format(#answer), limit, PARTS), printed)
end

--- The answer in the place of one that the bridge, or the game, refuses to take.
-- @param id
-- @tparam number size Bytes of that one.
-- @tparam number limit Bytes that a message may hold.
-- @tparam[opt] number printed How many bytes the job printed.
-- @treturn string As from @{reply.raw}.
function reply.refused(id, size, limit, printed)
  return raw(id, too_large(number.format(size), limit, MESSAGE), printed)
end

--- The answer in the place of one that is no longer kept.
-- @param id
-- @treturn string As from @{reply.raw}.
function reply.gone(id)
  return raw(id, {
    ok = false,
    kind = "result-gone",
    message = "this request was answered before, or cancelled, and its answer is no longer kept",
    hint = "It has not been run again. If its outcome matters, look at what it should have done.",
  })
end

--- An answer as one message.
-- @tparam string answer From @{reply.raw}.
-- @tparam number limit Bytes that a message may hold.
-- @treturn string|nil Nil if it is too large for that.
function reply.message(answer, limit)
  if #answer > limit then return nil end
  local message = text.ascii(answer)
  return #message <= limit and message or nil
end

--- Whether an id can be answered to.
-- @param id
-- @treturn boolean
function reply.is_id(id)
  return type(id) == "string" and id ~= "" or type(id) == "number" and find(number.format(id), "^%-?%d+$") ~= nil
end

return reply

end
modules["mcp-computer.requests"] = function()
--- The requests of version 2: each runs at most once, and is answered until the answer has arrived.

local json = require("mcp-computer.json")
local memory = require("mcp-computer.memory")
local methods = require("mcp-computer.methods")
local number = require("mcp-computer.number")
local reply = require("mcp-computer.reply")
local stream = require("mcp-computer.stream")

local floor, max, min = math.floor, math.max, math.min
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
-- Bytes of a job's code that a bridge is told of.
local SHOWN_CODE = 120
-- Longer ids are not remembered.
local ID_LIMIT = 256
-- How often requests are looked through, whether they can be forgotten, and how many at a time.
local SWEEP_SECONDS, SWEEP_LOOKS = 5, 64

local LEASE_HINT = "Wait until that job has ended, or cancel it. Without exclusive the code runs beside it."

--- @tparam table options `boot`: this start's name; `clock()`: seconds; `courier`; `jobs`; `memory`.
-- @treturn requests
function requests.new(options)
  return setmetatable({
    boot = options.boot,
    clock = options.clock,
    courier = options.courier,
    jobs = options.jobs,
    memory = options.memory,
    count = 0,       -- requests so far
    holder = nil,    -- the request whose job holds the turtle
    sweep_at = 0,    -- when requests are looked through next, in seconds
  }, requests)
end

local function failure(kind, message, hint)
  return { ok = false, kind = kind, message = message, hint = hint }
end

local function restarted()
  return failure("link-lost", "the computer has restarted since this was asked, so it was not run",
    "What ran on it then has ended. Ask again if it is still wanted.")
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
    expires = arrived_at + deadline_of(frame) + REMEMBERED_SECONDS,
    is_job = false,
    code = nil,         -- a job's code, or the beginning of it
    exclusive = nil,    -- whether the job holds the turtle
    stream = nil,       -- what the job prints
    printed = nil,      -- bytes it has printed, once it has ended
    ok = nil,           -- how it ended
    answer = nil,       -- from `reply.raw`, while it is kept
    answered_on = nil,  -- the connection on which it was sent
    parts = nil,        -- see `outgoing:send`, if it is sent in parts
  }
end

-- A request has its answer.
local function finish(self, request, outcome, answer)
  request.ok = outcome.ok
  if request.stream then request.printed = request.stream.total end
  if self.holder == request then self.holder = nil end
  self.memory:keep(request, answer or reply.raw(request.id, outcome, request.printed), request.is_job)
end

local function lease_refusal(self)
  local holder = self.holder
  return failure("refused", "the job " .. tostring(holder.id) .. " holds the turtle, since "
    .. number.format(floor(self.clock() - holder.arrived_at)) .. " s", LEASE_HINT)
end

-- Starts a request's job. Returns nil, or the outcome of one that can't start.
local function start_job(self, request, code, params, handler)
  local exclusive = params.exclusive
  if rawequal(exclusive, json.null) then exclusive = nil end
  if exclusive ~= nil and type(exclusive) ~= "boolean" then
    return failure("refused", "params.exclusive must be true or false")
  end
  if exclusive and self.holder then return lease_refusal(self) end
  local output = stream.new(self.memory.budget)
  local started = self.jobs:start(request.key, request.id, code, {
    request = request,
    handler = handler,
    output = output,
    answer = function(outcome, pause) return reply.raw(request.id, outcome, output.total, pause) end,
  })
  if not started then return methods.too_many_jobs() end
  request.is_job = true
  -- In CraftOS-PC `sub` alone would keep all of it.
  request.code = handler and handler.name or concat({ sub(code, 1, SHOWN_CODE) })
  request.exclusive = exclusive or false
  request.stream = output
  if exclusive then self.holder = request end
  return nil
end

-- Takes a request that has not been seen before.
local function take(self, frame, arrived_at)
  local request = new_request(self, frame, arrived_at)
  local ok, outcome, is_taken
  if self.clock() >= request.expires - REMEMBERED_SECONDS and self.clock() > arrived_at then
    -- It came in parts. It may have been run before, and forgotten.
    ok, outcome = true, late()
  else
    ok, outcome, is_taken = pcall(methods.call, frame, function(code, params, handler)
      return start_job(self, request, code, params, handler)
    end)
  end
  if not ok then
    outcome = failure("runtime", "mcp-computer: internal error: " .. tostring(outcome))
  end
  self.memory:add(request)
  if ok and is_taken then self.courier:accept(request.id) end
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
    self.courier:accept(request.id)
  elseif request.state == memory.FINISHED then
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
    request.expires = request.expires + LONGEST_WAIT_SECONDS
    self.memory:add(request)
  end
  if request.state == memory.RUNNING then
    -- One that has ended just now is answered with how it ended.
    self.jobs:cancel(request.key)
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

local HANDLERS = { request = asked, cancel = cancel, ack = answer_arrived, ["output-ack"] = output_arrived }

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
-- @tparam job job
function requests:job_ended(job)
  local request = job.request
  if request.state == memory.RUNNING then finish(self, request, job.outcome, job.answer) end
end

--- A request's job is about to turn the computer off: what it has so far is all there will be.
-- @tparam job job
function requests:job_halts(job)
  self:job_ended(job)
  self.courier:flush(job.request)
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

--- Does what is due by now.
function requests:tick()
  local now = self.clock()
  if now < self.sweep_at then return end
  self.sweep_at = now + SWEEP_SECONDS
  self.memory:sweep(SWEEP_LOOKS)
end

return requests

end
modules["mcp-computer.stream"] = function()
--- What one job prints, on its way to the bridge: cut into numbered frames, each of which is kept until it has arrived.
--
-- There is a bound on what is kept. When more is printed, the oldest bytes that are not yet in a frame are dropped, and
-- the next frame says how many were.

local sub = string.sub
local concat = table.concat
local min, setmetatable = math.min, setmetatable

local stream = {}
stream.__index = stream

--- Bytes that a job's stream holds at most.
stream.LIMIT = 256 * 1024
--- Bytes that all streams of a computer hold at most. A little of the 2 MiB is left for the answers of jobs.
stream.LIMIT_OF_ALL = 1792 * 1024
--- Bytes of a frame's text: a frame that is full goes out without delay.
stream.FRAME_BYTES = 8 * 1024

-- Frames of one job follow each other at this interval, unless they are full.
local FRAME_SECONDS = 0.1
-- What is printed is gathered into blocks, of this many bytes or pieces: it may come byte by byte.
local BLOCK_BYTES, BLOCK_PIECES = 4 * 1024, 256

--- What all streams of a computer hold together.
-- @tparam function on_full Called when that is too much, before the one that has grown drops some of its own.
-- @tparam function on_growth Called when it has become more.
-- @treturn table `bytes`, and `frames` that have not arrived yet.
function stream.new_budget(on_full, on_growth)
  return { bytes = 0, frames = 0, on_full = on_full, on_growth = on_growth }
end

--- @tparam table budget From @{stream.new_budget}.
-- @treturn stream An empty one.
function stream.new(budget)
  return setmetatable({
    budget = budget,
    total = 0,           -- bytes printed so far
    pieces = {},         -- the latest of them, not yet in a block
    piece_count = 0,
    piece_bytes = 0,
    blocks = {},         -- what is in no frame yet, at indices first_block..last_block
    first_block = 1,
    last_block = 0,
    block_bytes = 0,
    dropped = 0,         -- bytes dropped just before the first block
    framed = 0,          -- bytes that are in frames, or were dropped before one
    frames = {},         -- {seq, at, text, dropped}, those that have not arrived, at indices first_seq..last_seq
    first_seq = 1,
    last_seq = 0,
    next_seq = 1,        -- the first of them that was not sent on the present connection
    frame_bytes = 0,
    next_at = 0,         -- when the next frame may go out, in seconds
  }, stream)
end

-- Drops the oldest bytes that are in no frame, from one block. Returns how many.
local function drop_from_block(self, excess)
  local block = self.blocks[self.first_block]
  if not block then return 0 end
  local count = min(excess, #block)
  if count < #block then
    self.blocks[self.first_block] = sub(block, count + 1)
  else
    self.blocks[self.first_block] = nil
    self.first_block = self.first_block + 1
  end
  self.block_bytes = self.block_bytes - count
  self.budget.bytes = self.budget.bytes - count
  self.dropped = self.dropped + count
  return count
end

--- Drops the oldest bytes that are in no frame.
-- @tparam number excess How many, if there are so many.
function stream:drop(excess)
  while excess > 0 do
    local dropped = drop_from_block(self, excess)
    if dropped == 0 then return end
    excess = excess - dropped
  end
end

-- Drops what is beyond the limits.
local function trim(self)
  self:drop(self.block_bytes + self.frame_bytes - (stream.LIMIT - BLOCK_BYTES))
  local budget = self.budget
  if budget.bytes > stream.LIMIT_OF_ALL then budget.on_full() end
  self:drop(budget.bytes - stream.LIMIT_OF_ALL)
end

local function gather(self)
  if self.piece_count == 0 then return end
  local block = concat(self.pieces, "", 1, self.piece_count)
  self.piece_count, self.piece_bytes = 0, 0
  self.last_block = self.last_block + 1
  self.blocks[self.last_block] = block
  self.block_bytes = self.block_bytes + #block
  self.budget.bytes = self.budget.bytes + #block
  trim(self)
  self.budget.on_growth()
end

--- Appends what was printed.
-- @tparam string piece
-- @treturn boolean Whether much was since this last was so.
function stream:write(piece)
  local count, size = self.piece_count + 1, #piece
  self.total = self.total + size
  self.pieces[count] = piece
  self.piece_count = count
  size = self.piece_bytes + size
  self.piece_bytes = size
  if size < BLOCK_BYTES and count < BLOCK_PIECES then return false end
  gather(self)
  return true
end

--- @treturn number How many bytes it holds, but for the latest few.
function stream:held()
  return self.block_bytes + self.frame_bytes
end

--- Whether something was printed that was not sent on the present connection.
-- @treturn boolean
function stream:has_unsent()
  return self.next_seq <= self.last_seq or self.block_bytes + self.piece_bytes + self.dropped > 0
end

--- When a frame is to be sent.
-- @treturn number|nil In seconds; nil if there is nothing for one.
function stream:due_at()
  local uncut = self.block_bytes + self.piece_bytes
  if self.next_seq <= self.last_seq or uncut >= stream.FRAME_BYTES then return 0 end
  if uncut + self.dropped == 0 then return nil end
  return self.next_at
end

--- The oldest frame that has not arrived.
-- @treturn table|nil
function stream:oldest()
  return self.frames[self.first_seq]
end

--- @treturn number How many of the first bytes have arrived: no frame tells of them any more.
function stream:arrived_bytes()
  local oldest = self:oldest()
  return oldest and oldest.at - (oldest.dropped or 0) or self.framed
end

--- All frames are to be sent again that have not arrived: there is a new connection.
function stream:rewind()
  self.next_seq = self.first_seq
end

-- Takes up to FRAME_BYTES from the blocks.
local function take_text(self)
  local taken, count, room = {}, 0, stream.FRAME_BYTES
  while room > 0 and self.first_block <= self.last_block do
    local block = self.blocks[self.first_block]
    if #block > room then
      self.blocks[self.first_block] = sub(block, room + 1)
      block = sub(block, 1, room)
    else
      self.blocks[self.first_block] = nil
      self.first_block = self.first_block + 1
    end
    count = count + 1
    taken[count] = block
    room = room - #block
  end
  return concat(taken)
end

-- Makes a frame of what was printed. Returns whether there was something for it.
local function cut(self, now)
  gather(self)
  if self.block_bytes + self.dropped == 0 then return false end
  local text = take_text(self)
  local at = self.framed + self.dropped
  self.last_seq = self.last_seq + 1
  self.frames[self.last_seq] = {
    seq = self.last_seq, at = at, text = text, dropped = self.dropped > 0 and self.dropped or nil,
  }
  self.framed = at + #text
  self.block_bytes = self.block_bytes - #text
  self.frame_bytes = self.frame_bytes + #text
  self.dropped = 0
  self.budget.frames = self.budget.frames + 1
  self.next_at = now + FRAME_SECONDS
  return true
end

--- The frame to send next on the present connection; it is made if there is none yet.
-- @tparam number now In seconds.
-- @treturn table|nil `seq`, `text`, `at` (how many bytes were printed before that), `dropped` (how many of them right
--   before it are in no frame, or nil); nil if there is nothing for it.
function stream:next_frame(now)
  if self.next_seq > self.last_seq and not cut(self, now) then return nil end
  return self.frames[self.next_seq]
end

--- The frame from @{stream:next_frame} was sent.
function stream:sent()
  self.next_seq = self.next_seq + 1
end

local function forget_frame(self)
  local size = #self.frames[self.first_seq].text
  self.frames[self.first_seq] = nil
  self.first_seq = self.first_seq + 1
  self.frame_bytes = self.frame_bytes - size
  self.budget.bytes = self.budget.bytes - size
  self.budget.frames = self.budget.frames - 1
end

--- Takes note that frames have arrived.
-- @tparam number seq The last of them.
function stream:arrived(seq)
  while self.first_seq <= self.last_seq and self.first_seq <= seq do forget_frame(self) end
  if self.next_seq < self.first_seq then self.next_seq = self.first_seq end
end

--- Takes back a frame's text, which the game refuses to send: its bytes count as dropped.
-- @tparam table frame
function stream:lose(frame)
  local size = #frame.text
  frame.dropped = (frame.dropped or 0) + size
  frame.at = frame.at + size
  frame.text = ""
  self.frame_bytes = self.frame_bytes - size
  self.budget.bytes = self.budget.bytes - size
end

--- Lets go of everything.
function stream:release()
  self:arrived(self.last_seq)
  self.budget.bytes = self.budget.bytes - self.block_bytes
  self.blocks, self.first_block, self.last_block, self.block_bytes = {}, 1, 0, 0
  self.pieces, self.piece_count, self.piece_bytes, self.dropped = {}, 0, 0, 0
end

return stream

end
modules["mcp-computer.text"] = function()
--- Bytes, code points and JSON string escapes: how a Lua string crosses the link as pure ASCII, and comes back.
--
-- A Lua string is bytes. The link has three readings of it (PROTOCOL.md, "Byte strings"):
--
--   * `text.TEXT` (version 1, and every hello): what is valid UTF-8 is written as its code points, a stray byte as the
--     code point of the same number; code points that arrive become UTF-8.
--   * `text.BYTES` (version 2): one code point U+0000 to U+00FF for each byte, both ways.
--   * `text.RAW` (version 2, in parts): the same, but bytes over 127 may also stand as they are.

local byte, char, find, format = string.byte, string.char, string.find, string.format
local gsub, sub = string.gsub, string.sub
local concat = table.concat
local floor = math.floor
local setmetatable, tonumber = setmetatable, tonumber

local text = {}

text.TEXT = "text"
text.BYTES = "bytes"
text.RAW = "raw"

-- Everything but printable ASCII, the quote and the backslash; `[` and `]` match too and are left as they are. The
-- pattern is ASCII without classes, so it means the same in every Lua and locale.
local NOT_PLAIN = "[^ !#-Z^-~]"
local HIGH = "[\128-\255]"
local HIGH_RUN = "[\128-\255]+"
-- As NOT_PLAIN, but bytes over 126 are left as they are too.
local NOT_RAW = "[^ !#-Z^-\255]"
local NOT_ASCII = "[\127-\255]"
-- An escape, with hexadecimal digits that may belong to it: one pass over a string finds all of them.
local ESCAPE = "\\([\"\\/bfnrtu]?%x?%x?%x?%x?)"
local ESCAPE_BUT_UNICODE = "\\[^u]"
local HIGH_SURROGATE = "\\u[dD][89ABab]"
local NO_CONTROL = "^[ -\255]*$"

-- Strings with escapes are read by blocks, each of which is looked at as a whole: the first is small, as most strings
-- are, and each next one twice as long.
local FIRST_BLOCK, LAST_BLOCK = 256, 64 * 1024
-- An escape may begin this many bytes before a block's end and end in the next.
local UNFINISHED_ESCAPE = 5

local FIRST_HIGH_SURROGATE, FIRST_LOW_SURROGATE, AFTER_SURROGATES = 0xD800, 0xDC00, 0xE000
local FIRST_SUPPLEMENTARY, LAST_CODE_POINT = 0x10000, 0x10FFFF
local REPLACEMENT = 0xFFFD

-- What a JSON string holds in place of each byte: all of them, and those below 128 only.
local byte_escapes, ascii_escapes = {}, {}
for code = 0, 255 do
  if code < 32 or code >= 127 then
    byte_escapes[char(code)] = format("\\u%04x", code)
  end
end
byte_escapes["\n"], byte_escapes["\r"], byte_escapes["\t"] = "\\n", "\\r", "\\t"
byte_escapes["\""], byte_escapes["\\"] = "\\\"", "\\\\"
for code = 0, 127 do
  ascii_escapes[char(code)] = byte_escapes[char(code)]
end

-- What may follow a UTF-8 lead byte: how many bytes it announces, and the bounds of the second one, which exclude
-- overlong forms, surrogates and what lies beyond U+10FFFF (RFC 3629, section 4).
local function lead_of(first)
  if first >= 0xC2 and first <= 0xDF then return 2, 0x80, 0xBF end
  if first == 0xE0 then return 3, 0xA0, 0xBF end
  if first == 0xED then return 3, 0x80, 0x9F end
  if first >= 0xE1 and first <= 0xEF then return 3, 0x80, 0xBF end
  if first == 0xF0 then return 4, 0x90, 0xBF end
  if first >= 0xF1 and first <= 0xF3 then return 4, 0x80, 0xBF end
  if first == 0xF4 then return 4, 0x80, 0x8F end
  return nil
end

--- The code point that a string holds at a position, read as UTF-8.
-- @tparam string s
-- @tparam number at Where it begins.
-- @treturn number|nil The code point, or nil if no valid UTF-8 sequence begins there.
-- @treturn number The sequence's length in bytes (1 if it is invalid).
function text.code_point(s, at)
  local first = byte(s, at)
  if first < 0x80 then return first, 1 end
  local length, low, high = lead_of(first)
  if not length then return nil, 1 end
  local second = byte(s, at + 1)
  if not second or second < low or second > high then return nil, 1 end
  local code = (length == 2 and first - 0xC0 or length == 3 and first - 0xE0 or first - 0xF0) * 64 + second - 0x80
  for i = at + 2, at + length - 1 do
    local continuation = byte(s, i)
    if not continuation or continuation < 0x80 or continuation > 0xBF then return nil, 1 end
    code = code * 64 + continuation - 0x80
  end
  return code, length
end

--- A code point as UTF-8; surrogates and what lies beyond Unicode become U+FFFD.
-- @tparam number code
-- @treturn string
function text.utf8(code)
  if code > LAST_CODE_POINT or code >= FIRST_HIGH_SURROGATE and code < AFTER_SURROGATES then code = REPLACEMENT end
  if code < 0x80 then return char(code) end
  local last = 0x80 + code % 64
  local rest = floor(code / 64)
  if code < 0x800 then return char(0xC0 + rest, last) end
  local middle = 0x80 + rest % 64
  rest = floor(rest / 64)
  if code < FIRST_SUPPLEMENTARY then return char(0xE0 + rest, middle, last) end
  return char(0xF0 + floor(rest / 64), 0x80 + rest % 64, middle, last)
end

local function escape_code_point(code)
  if code < FIRST_SUPPLEMENTARY then return format("\\u%04x", code) end
  local offset = code - FIRST_SUPPLEMENTARY
  return format("\\u%04x\\u%04x", FIRST_HIGH_SURROGATE + floor(offset / 1024), FIRST_LOW_SURROGATE + offset % 1024)
end

local function escape_high_run(run)
  local parts, at = {}, 1
  while at <= #run do
    local code, length = text.code_point(run, at)
    parts[#parts + 1] = escape_code_point(code or byte(run, at))
    at = at + length
  end
  return concat(parts)
end

--- The inside of a JSON string (without its quotes), pure ASCII.
-- @tparam string s Any bytes.
-- @tparam string mode `text.TEXT` or `text.BYTES`.
-- @treturn string
function text.escape(s, mode)
  if mode == text.BYTES then return (gsub(s, NOT_PLAIN, byte_escapes)) end
  if mode == text.RAW then return (gsub(s, NOT_RAW, ascii_escapes)) end
  s = gsub(s, NOT_PLAIN, ascii_escapes)
  if find(s, HIGH) then s = gsub(s, HIGH_RUN, escape_high_run) end
  return s
end

--- JSON text whose strings were escaped as `text.RAW`, as if they had been as `text.BYTES`.
-- @tparam string raw
-- @treturn string ASCII.
function text.ascii(raw)
  return (gsub(raw, NOT_ASCII, byte_escapes))
end

--- Whether JSON text means the same read as `text.RAW` and as `text.BYTES`, which takes longer.
-- @tparam string s
-- @treturn boolean
function text.is_raw(s)
  return not find(s, HIGH) and not find(s, HIGH_SURROGATE)
end

-- Bytes over 127 that stand in a message as they are. The bridge means UTF-8, but a game before 1.109 hands each code
-- point up to U+00FF to Lua as one byte: what isn't UTF-8 is taken as that.
local function read_high_run(run, mode)
  local parts, at = {}, 1
  while at <= #run do
    local code, length = text.code_point(run, at)
    local piece
    if not code then
      piece = mode == text.BYTES and sub(run, at, at) or text.utf8(byte(run, at))
    elseif mode == text.BYTES and code <= 0xFF then
      piece = char(code)
    else
      piece = sub(run, at, at + length - 1)
    end
    parts[#parts + 1] = piece
    at = at + length
  end
  return concat(parts)
end

--- A stretch of a JSON string that holds no escapes, as the Lua string it stands for.
-- @tparam string raw
-- @tparam string mode
-- @treturn string
function text.read_raw(raw, mode)
  if mode == text.RAW or not find(raw, HIGH) then return raw end
  return (gsub(raw, HIGH_RUN, function(run) return read_high_run(run, mode) end))
end

local SIMPLE_ESCAPES = {
  ["\""] = "\"", ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t",
}

local function hex_at(s, at)
  local digits = sub(s, at, at + 3)
  if not find(digits, "^%x%x%x%x$") then return nil end
  return tonumber(digits, 16)
end

--- The Lua string that one escape of a JSON string stands for.
-- @tparam string s
-- @tparam number at Where its backslash is.
-- @tparam string mode
-- @treturn string|nil Nil if it isn't an escape.
-- @treturn number Where what follows it begins.
function text.read_escape(s, at, mode)
  local letter = sub(s, at + 1, at + 1)
  if letter ~= "u" then return SIMPLE_ESCAPES[letter], at + 2 end
  local code = hex_at(s, at + 2)
  if not code then return nil, at end
  local after = at + 6
  if mode == text.BYTES and code <= 0xFF then return char(code), after end
  if code >= FIRST_HIGH_SURROGATE and code < FIRST_LOW_SURROGATE and sub(s, after, after + 1) == "\\u" then
    local low = hex_at(s, after + 2)
    if low and low >= FIRST_LOW_SURROGATE and low < AFTER_SURROGATES then
      code = FIRST_SUPPLEMENTARY + (code - FIRST_HIGH_SURROGATE) * 1024 + low - FIRST_LOW_SURROGATE
      after = after + 6
    end
  end
  return text.utf8(code), after
end

-- What stands for an escape, by all that ESCAPE captures of it: the digits after it are handed on.
local malformed = false
local unescaped = setmetatable({}, {
  __index = function(known, captured)
    local letter, rest = sub(captured, 1, 1), sub(captured, 2)
    local meaning
    if letter ~= "u" then
      meaning = SIMPLE_ESCAPES[letter] and SIMPLE_ESCAPES[letter] .. rest
    elseif #rest == 4 then
      local code = tonumber(rest, 16)
      meaning = code <= 0xFF and char(code) or text.utf8(code)
    end
    if not meaning then
      malformed = true
      return false
    end
    -- The many that have digits after them are not worth remembering.
    if #captured <= 2 or letter == "u" and sub(rest, 1, 2) == "00" then known[captured] = meaning end
    return meaning
  end,
})

-- Where a block's whole escapes end, and whether its string does too.
local function end_of_block(block)
  -- Of the same length, but any quote or backslash left is one that counts.
  local masked = gsub(block, ESCAPE_BUT_UNICODE, "__")
  local quote = find(masked, "\"", 1, true)
  if quote then return quote - 1, true end
  local unfinished = find(masked, "\\", #masked > UNFINISHED_ESCAPE and -UNFINISHED_ESCAPE or 1, true)
  return unfinished and unfinished - 1 or #block, false
end

--- The rest of a JSON string that is read as `text.RAW`.
-- @tparam string s
-- @tparam number at Where it begins, behind its quote.
-- @tparam function pause Called now and then.
-- @treturn string|nil Nil if it is malformed.
-- @treturn number|string Where what follows its closing quote begins, or what is wrong with it.
function text.read_raw_string(s, at, pause)
  local parts, size = {}, FIRST_BLOCK
  while true do
    -- CraftOS-PC copies a part of a string whenever it is looked at: `concat` makes it one of its own.
    local block = concat({ sub(s, at, at + size - 1) })
    local length, ends = end_of_block(block)
    if length < #block then block = sub(block, 1, length) end
    if not find(block, NO_CONTROL) then return nil, "a control character in a string" end
    malformed = false
    parts[#parts + 1] = gsub(block, ESCAPE, unescaped)
    if malformed then return nil, "an invalid escape in a string" end
    at = at + length
    if ends then return concat(parts), at + 1 end
    if length == 0 or at > #s then return nil, "a string does not end" end
    if size < LAST_BLOCK then size = size * 2 end
    pause()
  end
end

return text

end
modules["mcp-computer.url"] = function()
--- The bridge's address: what is accepted as one, and its parts.

local find, gsub, lower = string.find, string.gsub, string.lower
local match, sub = string.match, string.sub
local tonumber = tonumber

local url = {}

local DEFAULT_PORTS = { ws = 80, wss = 443 }
local LAST_PORT = 65535

local function split_authority(authority)
  local host, port = match(authority, "^(%[[%x:.]+%])(.*)$")
  if not host then host, port = match(authority, "^([^:]*)(.*)$") end
  return host, port
end

--- Reads a WebSocket address.
-- @tparam string address
-- @treturn table|nil `{scheme, host, port, base}`: `host` without brackets, `base` the address without a fragment.
-- @treturn string|nil What is wrong with it, and how it should look.
function url.parse(address)
  if find(address, "[%s%c]") then return nil, "The URL has a blank in it: " .. address end
  local scheme, rest = match(address, "^(%a[%w+.-]*)://(.*)$")
  if not scheme then
    return nil, "The URL must begin with ws:// - did you mean ws://" .. match(address, "^/*(.*)$") .. " ?"
  end
  scheme = lower(scheme)
  if not DEFAULT_PORTS[scheme] then
    return nil, "The URL must begin with ws:// or wss://, not " .. scheme .. "://"
  end
  local authority, path = match(rest, "^([^/?#]*)([^#]*)")
  if find(authority, "@", 1, true) then return nil, "The URL must not hold a user name or password." end
  local host, port_text = split_authority(authority)
  if host == "" then return nil, "The URL names no host: " .. address end
  local port = DEFAULT_PORTS[scheme]
  if port_text ~= "" then
    port = find(port_text, "^:%d+$") and #port_text <= 6 and tonumber(sub(port_text, 2))
    if not port or port < 1 or port > LAST_PORT then
      return nil, "The URL's port must be a number from 1 to 65535: " .. address
    end
  end
  if sub(path, 1, 1) ~= "/" then path = "/" .. path end
  return {
    scheme = scheme,
    host = (gsub(host, "[%[%]]", "")),
    port = port,
    base = scheme .. "://" .. authority .. path,
  }
end

return url

end
--- mcp-computer: links this computer to an mcp-bridge, so that an MCP client can see and program it.

local VERSION = "1.0.0"
-- The bridge fills in its own address when it serves this program.
local DEFAULT_URL = nil
-- The setting that holds the link's token, if the bridge wants one.
local TOKEN_SETTING = "mcp_computer.token"

local options = require("mcp-computer.options")

local function print_lines(lines)
  for i = 1, #lines do print(lines[i]) end
end

-- How the player called this program; `wget run` puts its own name there.
local function program_name()
  local name = arg and arg[0] and string.match(arg[0], "([^/]+)$")
  if not name or name == "wget" then return "mcp-computer" end
  return (string.gsub(name, "%.lua$", ""))
end

local parsed, problem = options.parse({ ... })
if not parsed then
  print_lines(options.usage(program_name()))
  error(problem, 0)
end
if parsed.action == "help" then
  print_lines(options.usage(program_name()))
  return
end
if parsed.action == "version" then
  print("mcp-computer v" .. VERSION)
  return
end

local address_text = parsed.url or DEFAULT_URL
if not address_text then
  print_lines(options.usage(program_name()))
  error("The bridge's URL is missing.", 0)
end

local url = require("mcp-computer.url")
local address, malformed = url.parse(address_text)
if not address then error(malformed, 0) end

local advice = require("mcp-computer.advice")
if not http then error(table.concat(advice.http_off(), "\n"), 0) end
if not http.websocketAsync then error(table.concat(advice.websockets_off(), "\n"), 0) end

local agent = require("mcp-computer.agent")
print(("mcp-computer v%s connecting to %s"):format(VERSION, address_text))
local token = parsed.token or settings and settings.get(TOKEN_SETTING)
agent.new({
  address = address,
  version = VERSION,
  token = token and tostring(token),
  program = { shell = shell, multishell = multishell, require = require, package = package },
}):run()
