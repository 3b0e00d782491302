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

--- Draws a key for this computer, of letters and digits.
-- @treturn string
function identity.draw_key()
  local drawn = identity.draw_boot()
  for _ = 1, 4 do drawn = drawn .. base36(floor(random() * 36 ^ 4), 4) end
  return drawn
end

--- What the machine's clock shows, which bridges are told, and by which they say when a request begins at the latest.
-- @treturn number Milliseconds since 1970, a whole number.
function identity.time()
  return floor(epoch("utc"))
end

--- @treturn number
function identity.id()
  return computer_id()
end

--- The label, which may change at any time: so it is read anew.
-- @treturn string|nil
function identity.label()
  local label = computer_label()
  return label ~= "" and label or nil
end

--- How this computer is named to people: `12 (Label: base-turtle)`, `12 (Label: nil)`.
-- @treturn string
function identity.name()
  return format("%d (Label: %s)", computer_id(), tostring(identity.label()))
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

-- `for` is told where there is a place to show it.
local function capabilities(hosts)
  return json.array({
    "cancel", "output", "parts", "jobs", "exclusive", "handlers", "detach", "where", "startBefore", "tells",
    "largeHandlers", "programs", "recentErrors", "screens", hosts and "for" or nil,
  })
end

--- The first frame of a link (src/wire/PROTOCOL.md, "Handshake").
-- @tparam table options `version` of the agent, `boot`, `key` (or nil), `token` (or nil), `policy`, `jobs`: ids still
--   known; `paused` or nil; `hosts`: whether the player's shell is hosted.
-- @treturn table
function identity.hello(options)
  local width, height = globals.term.getSize()
  local host = globals._HOST
  return {
    type = "hello",
    computerId = computer_id(),
    computerLabel = identity.label(),
    protocol = identity.PROTOCOL,
    agent = { name = "mcp-computer", version = options.version },
    boot = options.boot,
    key = options.key,
    computer = {
      kind = kind(),
      advanced = is_advanced(),
      host = type(host) == "string" and host or nil,
      width = width,
      height = height,
    },
    policy = options.policy,
    paused = options.paused,
    capabilities = capabilities(options.hosts),
    at = identity.time(),
    maxMessage = identity.MAX_MESSAGE,
    token = options.token,
    jobs = json.array(options.jobs),
  }
end

return identity
