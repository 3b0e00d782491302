--- What programs draw on monitors, written along, since in the game a monitor can't be read.
--
-- Whatever is done to a peripheral goes through `peripheral.call`, also what `peripheral.wrap` gives: it is swapped
-- while such programs run. The game's own is called last and as it is, so that an error has the place that it has
-- without us.

local window = require("mcp-computer.window")

local next, pcall, rawget, rawset, type = next, pcall, rawget, rawset, type
local globals = _G
local library = peripheral

local monitors = {}

local MONITOR = "monitor"
-- Changes after which names may mean something else.
local CHANGES = { peripheral = true, peripheral_detach = true }

-- Of each name that was called: what is known of it as a monitor, or false.
local known = {}
-- The game's function; and how many wait for it to be put back.
local game_call = library and library.call
local depth = 0

local UNSEEN = "what is on it was drawn before this computer's agent ran, or without it, and can't be read in the "
  .. "game. Let its program draw anew"
local PARTLY = "what was drawn before this computer's agent saw it can't be read in the game, and is blank here"

-- Methods that change nothing that is seen, or only what asks for them.
local IGNORED = { getSize = true, getCursorPos = true, getTextScale = true, isColour = true, isColor = true }

local function measure(self)
  local ok, width, height = pcall(game_call, self.name, "getSize")
  if not ok or type(width) ~= "number" then return end
  local own_width, own_height = self.window.getSize()
  if width ~= own_width or height ~= own_height then self.window.reposition(1, 1, width, height) end
end

local function new_monitor(name)
  local call = game_call
  local ok, width, height = pcall(call, name, "getSize")
  if not ok or type(width) ~= "number" then return false end
  local parent = {}
  function parent.isColour()
    local asked, colour = pcall(call, name, "isColour")
    return asked and colour == true
  end
  function parent.getPaletteColour(colour) return call(name, "getPaletteColour", colour) end
  local made, own = pcall(window.create, parent, 1, 1, width, height, false)
  if not made then return false end
  local self = { name = name, window = own, screen = window.screen(own), is_resized = false }
  self.screen.partial = PARTLY
  return self
end

local function monitor_of(name)
  if type(name) ~= "string" then return false end
  local self = known[name]
  if self == nil then
    local kind = library.getType(name)
    if kind == nil then return false end
    self = kind == MONITOR and new_monitor(name)
    known[name] = self
  end
  return self
end

local function write_along(self, method, ...)
  if self.is_resized then
    self.is_resized = false
    measure(self)
  end
  if method == "setTextScale" then
    -- The game makes it blank, of another size.
    self.is_resized = true
    self.window.clear()
    self.screen.partial = nil
  else
    local own = not IGNORED[method] and self.window[method]
    if own and pcall(own, ...) and method == "clear" then self.screen.partial = nil end
  end
end

local function call(name, method, ...)
  local self = known[name]
  if self == nil then self = monitor_of(name) end
  if self then write_along(self, method, ...) end
  return game_call(name, method, ...)
end

-- What programs have in its place: one may have put another there, which calls this.
local own_call = call

--- Programs are about to run.
function monitors.enter()
  depth = depth + 1
  if depth > 1 or not library then return end
  game_call = rawget(library, "call")
  rawset(library, "call", own_call)
end

--- They have yielded. What they have put there themselves is theirs alone.
function monitors.leave()
  depth = depth - 1
  if depth > 0 or not library then return end
  own_call = rawget(library, "call")
  rawset(library, "call", game_call)
end

--- Takes note of what happens to peripherals.
-- @tparam table event Packed.
function monitors.handle(event)
  local name = event[2]
  if CHANGES[event[1]] and name ~= nil then
    known[name] = nil
  elseif event[1] == "monitor_resize" and name ~= nil and known[name] then
    known[name].is_resized = true
    known[name].window.clear()
  end
end

--- What is on a monitor.
-- @tparam string name
-- @treturn table|nil See @{screens.find}.
-- @treturn string|nil Why it is not known.
function monitors.find(name)
  local kind = library and library.getType(name)
  if kind == nil then return nil, nil end
  if kind ~= MONITOR then return nil, name .. " is no monitor, but: " .. kind end
  local self = known[name]
  if not self then return nil, UNSEEN end
  if self.is_resized then
    self.is_resized = false
    measure(self)
  end
  local screen = self.screen
  function screen.press(...)
    globals.os.queueEvent(...)
    return true
  end
  return screen
end

--- @treturn {string,...} The names of all monitors here.
function monitors.names()
  local names = {}
  for _, name in next, library and library.getNames() or {} do
    if library.getType(name) == MONITOR then names[#names + 1] = name end
  end
  return names
end

return monitors
