--- A screen as it is told on the link, and how long it is waited for until it changes.

local identity = require("mcp-computer.identity")
local json = require("mcp-computer.json")
local screens = require("mcp-computer.screens")

local concat = table.concat
local find, gsub = string.find, string.gsub
local min = math.min
local setmetatable, type = setmetatable, type

local view = {}

--- How often a screen that is waited for is looked at, in seconds: the game's tick, in which all changes.
view.TICK_SECONDS = 0.05

-- What is added to a screen's own count of changes. It is the time when the screen is first told of: so no version is
-- that of another screen, or one that an earlier start of the agent told.
local bases = setmetatable({}, { __mode = "k" })

--- The version of what a screen shows now.
-- @tparam table screen See @{screens.find}.
-- @treturn number Another one than before if it has changed.
function view.version(screen)
  local base = bases[screen]
  if not base then
    base = identity.time()
    bases[screen] = base
  end
  return base + screen.version
end

--- That a target is no screen.
-- @tparam string reason From @{screens.find}.
-- @treturn table An outcome.
function view.none(reason)
  local names = screens.names()
  -- As people are shown a job's id.
  for i = 1, #names do names[i] = gsub(names[i], "^(job %x%x%x%x)%x%x%x%x%x%x%x%x(%-%d+)$", "%1%2") end
  local hint = #names > 0 and "The screens there are now: " .. concat(names, ", ") .. "." or nil
  return { ok = false, kind = "refused", message = reason, hint = hint }
end

--- All that a screen shows (src/wire/PROTOCOL.md, "Screens").
-- @tparam table screen
-- @treturn table
function view.tell(screen)
  local version = view.version(screen)
  local width, height = screen.size()
  local x, y, blinks, colour = screen.cursor()
  local lines = {}
  for row = 1, height do
    local text, fore, back = screen.line(row)
    lines[row] = json.array({ text, fore, back })
  end
  return {
    version = version, width = width, height = height, colours = screen.colour, partial = screen.partial,
    cursor = { x = x, y = y, blinks = blinks, colour = colour },
    palette = json.array(screen.palette()),
    lines = json.array(lines),
  }
end

local function number_of(value)
  return type(value) == "number" and value or nil
end

--- Answers what a screen shows, once it is another version than the one that the bridge knows.
-- @tparam table params `target`; `since`: that version, or nil; `waitMs`: how long it may wait for one.
-- @tparam function clock Seconds.
-- @tparam function wait_until Waits until a time, in seconds.
-- @treturn table An outcome.
function view.read(params, clock, wait_until)
  local known, wait_ms = number_of(params.since), number_of(params.waitMs) or 0
  local deadline = clock() + wait_ms / 1000
  local since = known
  while true do
    local screen, reason = screens.find(params.target)
    if not screen then return view.none(reason) end
    local version = view.version(screen)
    if not since and wait_ms > 0 then since = version end
    local now = clock()
    if version ~= since or now >= deadline then
      if version == known then return { ok = true, result = { unchanged = true, version = version } } end
      return { ok = true, result = view.tell(screen) }
    end
    wait_until(min(deadline, now + view.TICK_SECONDS))
  end
end

--- Whether a text is in a row of a screen.
-- @tparam table screen
-- @tparam string text
-- @treturn boolean
function view.shows(screen, text)
  local _, height = screen.size()
  for row = 1, height do
    local line = screen.line(row)
    if find(line, text, 1, true) then return true end
  end
  return false
end

return view
