--- What can be looked at on this computer, by names: the screen that the player sees, its tabs, what jobs draw on, and
-- monitors. Whoever has screens of a kind provides them.

local concat = table.concat
local format, match, sub = string.format, string.match, string.sub
local next, tonumber, tostring, type = next, tonumber, tostring, type

local screens = {}

-- Targets that are no peripheral's name, and which kind they are.
local TERMINAL, TAB, JOB, MONITOR = "terminal", "tab", "job", "monitor"
local ORDER = { TERMINAL, TAB, JOB, MONITOR }

local WITHOUT_SHELL = "this computer's agent does not host its shell, and what other programs draw can't be read in "
  .. "the game. Ask its player to start it by `mcp-computer --shell`"

-- Why there is none of a kind that nobody provides.
local LACKING = {
  [TERMINAL] = WITHOUT_SHELL,
  [TAB] = WITHOUT_SHELL,
  [JOB] = "no job here has a screen of its own",
  [MONITOR] = WITHOUT_SHELL .. "; what is drawn on monitors from then on is seen",
}

local providers = {}

--- Says where the screens of a kind are.
-- @tparam string kind `terminal`, `tab`, `job` or `monitor`.
-- @tparam table|nil provider `find(name)`: the screen, or nil and why there is none; `names()`: those there are now.
--   The name is the target's own part: a tab's number, a job's id, a monitor's name, nil for the terminal.
function screens.provide(kind, provider)
  providers[kind] = provider
end

-- The kind of a target, and its name among those of its kind.
local function parse(target)
  if target == TERMINAL then return TERMINAL, nil end
  local number = match(target, "^tab (%d+)$")
  if number then return TAB, tonumber(number) end
  if sub(target, 1, 4) == "job " then return JOB, sub(target, 5) end
  return MONITOR, target
end

--- Finds a screen.
-- @tparam string target `terminal`, `tab N`, `job ID`, or a monitor's name as a peripheral.
-- @treturn table|nil It has `size()`: width and height; `line(y)`: text, its colours and those behind it, as `blit`
--   takes them, 0 to f; `cursor()`: x, y, whether it blinks, and its colour from 0 to 15; `palette()`: sixteen numbers
--   0xRRGGBB; `colour`: whether it shows colours; `version`: a number that grows with each change; `press(event, …)`:
--   gives an event to the program that draws there, and returns whether it is taken, else false and why. `partial`, if
--   not all of what it shows is known: what it is that isn't.
-- @treturn string|nil Why there is none.
function screens.find(target)
  if type(target) ~= "string" or target == "" then return nil, "a target must be a name" end
  local kind, name = parse(target)
  local provider = providers[kind]
  if not provider then return nil, LACKING[kind] end
  local screen, reason = provider.find(name)
  if screen then return screen end
  local names = concat(screens.names(), ", ")
  return nil, reason or format("there is no %s here; there is: %s", target, names ~= "" and names or "nothing")
end

--- @treturn {string,...} The targets that there are now.
function screens.names()
  local names = {}
  for _, kind in next, ORDER do
    local provider = providers[kind]
    for _, name in next, provider and provider.names() or {} do
      names[#names + 1] = (kind == TAB or kind == JOB) and kind .. " " .. tostring(name) or tostring(name)
    end
  end
  return names
end

return screens
