--- `mcp-computer doctor`: looks from this computer for what keeps it from its bridge, and says what mends it.

local advice = require("mcp-computer.advice")
local autostart = require("mcp-computer.autostart")
local identity = require("mcp-computer.identity")
local installation = require("mcp-computer.installation")
local json = require("mcp-computer.json")
local key = require("mcp-computer.key")
local link = require("mcp-computer.link")
local presence = require("mcp-computer.presence")
local url = require("mcp-computer.url")

local floor, format, gsub = math.floor, string.format, string.gsub
local error, ipairs, pcall, setmetatable, tostring, type = error, ipairs, pcall, setmetatable, tostring, type
local cancel_timer, epoch, pull, start_timer = os.cancelTimer, os.epoch, os.pullEventRaw, os.startTimer
local print, fs, http_library = print, fs, http
local globals = _G

local doctor = {}
doctor.__index = doctor

-- How things are: what stands before a line, and its colour.
local OK, NOTE, BAD = { "ok ", "green" }, { "!  ", "yellow" }, { "x  ", "red" }

-- How long the bridge has to answer, and to take this computer: the game itself may wait for 30 s.
local ANSWER_SECONDS, LINK_SECONDS = 6, 8
-- With less free space, in bytes, programs soon fail to keep what they write.
local LITTLE_SPACE = 20000

-- Shows how something is, and what to do. Returns whether nothing is in the way.
local function say(self, how, line, lines)
  local term, colours = globals.term, globals.colors
  local former = term.getTextColour and term.getTextColour()
  if former and term.isColour() then term.setTextColour(colours[how[2]]) end
  globals.write(how[1])
  if former then term.setTextColour(former) end
  print(line)
  for _, more in ipairs(lines or {}) do print("   " .. gsub(more, "\n", "\n   ")) end
  self[how] = self[how] + 1
  return how ~= BAD
end

-- Shows what advice there is: its first line says what is so.
local function say_lines(self, how, lines)
  local rest = {}
  for i = 2, #lines do rest[i - 1] = lines[i] end
  return say(self, how, lines[1], rest)
end

-- A time in its largest unit.
local function ago(seconds)
  if seconds < 60 then return format("%d s", floor(seconds)) end
  if seconds < 3600 then return format("%d min", floor(seconds / 60)) end
  return format("%d h", floor(seconds / 3600))
end

-- Pulls events until `take` returns something, or the time is over. It is told of each event.
local function wait(seconds, take)
  local timer, until_time = start_timer(seconds), epoch("utc") + seconds * 1000
  while true do
    local event = { pull() }
    if event[1] == "terminate" then error("Terminated", 0) end
    local result = take(event)
    local is_over = event[1] == "timer" and event[2] == timer or epoch("utc") >= until_time
    if result ~= nil or is_over then
      cancel_timer(timer)
      return result
    end
  end
end

local function check_http(self)
  if not http_library then return say_lines(self, BAD, advice.http_off()) end
  if not http_library.websocketAsync then return say_lines(self, BAD, advice.websockets_off()) end
  return say(self, OK, "HTTP is on")
end

local function check_rule(self, address)
  local ok, allowed, reason = pcall(http_library.checkURL, url.page(address, "/"))
  if not ok then allowed, reason = false, allowed end
  if allowed then return say(self, OK, format("The game lets computers connect to %s", address.host)) end
  return say_lines(self, BAD, advice.explain(tostring(reason), address).lines)
end

-- Asks the bridge how it is. Returns its answer, or nil and what the game says.
local function ask_health(address)
  local asked = url.page(address, "/health")
  local ok, started = pcall(http_library.request, asked)
  if not ok or started == false then return nil, "URL malformed" end
  local answer = wait(ANSWER_SECONDS, function(event)
    if event[2] ~= asked then return nil end
    if event[1] == "http_success" then return { handle = event[3] } end
    if event[1] == "http_failure" then return { problem = tostring(event[3]), handle = event[4] } end
  end)
  if not answer then return nil, "Timed out" end
  local handle = answer.handle
  local text = handle and handle.readAll() or ""
  local code = handle and handle.getResponseCode()
  if handle then handle.close() end
  if answer.problem then return nil, code == 403 and "403" or handle and "Invalid handshake" or answer.problem end
  local health = json.decode(text, json.BYTES)
  if type(health) ~= "table" or health.name ~= "mcp-bridge" then return nil, "Invalid handshake" end
  return health
end

local function check_bridge(self, address)
  local health, problem = ask_health(address)
  if not health then return say_lines(self, BAD, advice.explain(problem, address).lines) end
  local version = tostring(health.version)
  say(self, OK, format("mcp-bridge %s answers at %s:%d", version, address.host, address.port))
  if version ~= self.version then
    say(self, NOTE, format("This mcp-computer is %s. To get the bridge's:", self.version),
      { "wget run " .. url.page(address, "/install.lua") })
  end
  return true
end

-- Links for a moment, as the agent would. Returns nil, or what the bridge or the game says.
local function try_link(self, address)
  local boot, result = identity.draw_boot(), nil
  local own = link.new({
    address = address,
    boot = boot,
    clock = function() return epoch("utc") / 1000 end,
    hello = function()
      return identity.hello({
        boot = boot, key = key.load(), version = self.version, token = self.token, policy = "read-only",
        jobs = {},
      })
    end,
    on_linked = function() result = { ok = true } end,
    on_version2 = function() end,
    on_frame = function() end,
    on_trouble = function(reason, state)
      local lines = state == link.OPENING and advice.explain(reason, address).lines
      result = { lines = lines or { "The link broke: " .. advice.lost(reason) } }
    end,
    on_refused = function(reason) result = { lines = { "The bridge does not take this computer:", reason } } end,
    on_stop = function(reason) result = { lines = { "The bridge does not take this computer:", reason } } end,
  })
  local until_time = epoch("utc") + LINK_SECONDS * 1000
  while not result and epoch("utc") < until_time do
    own:tick()
    if result then break end
    wait(0.25, function(event) return own:handle(event) or nil end)
  end
  own:close()
  return result or { lines = { format("The bridge took no link within %d seconds.", LINK_SECONDS) } }
end

local function with_token(self)
  return self.token and "with the token that is set" or "without a token"
end

-- What the agent says that runs here.
local function check_agent(self, running)
  local version = type(running.version) == "string" and " v" .. running.version or ""
  local name = "The mcp-computer" .. version .. " that runs here "
  local told = running.link
  if type(told) ~= "table" then
    return say(self, NOTE, name .. "is older, and does not tell whether it is linked.", { "Its screen shows it." })
  end
  if type(told.linked_seconds) == "number" then
    return say(self, OK, name .. "is linked for " .. ago(told.linked_seconds))
  end
  local away = type(told.left_seconds) == "number" and told.left_seconds
  local line = away and name .. "is not linked for " .. ago(away) or name .. "has not linked since it started"
  return say(self, BAD, line, { type(told.trouble) == "string" and told.trouble or "It has just begun." })
end

local function check_link(self, address, running)
  if running then return check_agent(self, running) end
  local result = try_link(self, address)
  if not result.ok then return say_lines(self, BAD, result.lines) end
  say(self, OK, format("The bridge takes this computer, %s", with_token(self)))
  return say(self, NOTE, "It is not linked now, since no mcp-computer runs.", { "Start it with: mcp-computer" })
end

local function check_space(self)
  local free = fs.getFreeSpace("/")
  if type(free) ~= "number" or free >= LITTLE_SPACE then return say(self, OK, "There is free space on the disk") end
  return say(self, NOTE, format("Only %d bytes of the disk are free.", floor(free)),
    { "Programs can't write, and mcp-computer can't update itself: delete some files." })
end

local function check_startup(self)
  local own, before = autostart.find()
  if not own then return say(self, OK, "mcp-computer does not start with this computer") end
  local of_disk = autostart.of_disk()
  if not autostart.is_allowed() then
    return say(self, NOTE, own .. " does not run when this computer starts.", { "set shell.allow_startup true" })
  end
  if of_disk then
    return say(self, NOTE, of_disk .. " runs instead of " .. own, { "Take that disk out, or delete the file." })
  end
  local endless = autostart.endless()
  for _, path in ipairs(before) do
    if path == endless then
      return say(self, NOTE, path .. " runs before " .. own,
        { "If it does not end, mcp-computer never starts.", "mcp-computer install offers a way out." })
    end
  end
  return say(self, OK, "It starts with this computer: " .. own)
end

local function check_files(self)
  local path, another = installation.find()
  if another then
    say(self, NOTE, format("mcp-computer is here twice: %s and %s", path, another),
      { "To keep the first, and take the other away: mcp-computer install" })
  end
end

--- Looks at everything.
-- @tparam table options `address`: the bridge's as text, or nil; `token`, or nil; `version`.
-- @throws How many things are in the way, if any is.
function doctor.run(options)
  local self = setmetatable({
    version = options.version,
    token = options.token,
    [OK] = 0, [NOTE] = 0, [BAD] = 0, -- how many are so
  }, doctor)
  local running = presence.ask(identity.draw_boot())
  local text = options.address or running and running.link and running.link.address
  local address, malformed
  if type(text) == "string" then address, malformed = url.parse(text) end
  if check_http(self) then
    if not address then
      say(self, BAD, malformed or "The bridge's address is missing.", { "mcp-computer doctor ws://HOST:3001" })
    elseif check_rule(self, address) and check_bridge(self, address) then
      check_link(self, address, running)
    end
  end
  check_space(self)
  check_startup(self)
  check_files(self)
  if self[BAD] == 1 then error("1 thing keeps this computer from its bridge.", 0) end
  if self[BAD] > 1 then error(format("%d things keep this computer from its bridge.", self[BAD]), 0) end
  print(self[NOTE] > 0 and "Nothing is in the way." or "All is well.")
end

return doctor
