-- Turns computers on, off and on again, and labels this one.

local errors = require("shared.errors")
local methods_of = require("shared.methods")
local words = require("shared.words")

local format = string.format

-- The method of an attached computer for each action.
local METHODS = { reboot = "reboot", shutdown = "shutdown", ["turn-on"] = "turnOn" }

-- A label of the game has so many letters at most.
local LONGEST_LABEL = 32

local function attached()
  local names = {}
  for _, name in ipairs(peripheral.getNames()) do
    if methods_of(name).turnOn then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function of_neighbour(action, name)
  local method = METHODS[action]
  if not method then
    return nil, "Only a computer itself can change its label: call power for it, without `neighbour`."
  end
  local names, is_there = attached(), false
  for _, other in ipairs(names) do is_there = is_there or other == name end
  if not is_there then
    return nil, format("%s is no attached computer; %s", name,
      #names > 0 and "there are " .. words.some(names, 20) .. "."
        or "none is attached.")
  end
  local was_on = peripheral.call(name, "isOn")
  if action == "turn-on" and was_on then return format("%s is on already.", name) end
  if action == "shutdown" and not was_on then return format("%s is off already.", name) end
  peripheral.call(name, method)
  return format("%s was told to %s.", name, action == "turn-on" and "turn on" or action == "shutdown" and "shut down"
    or "reboot")
end

--- `power`.
local function power(arguments)
  local action = arguments.action
  if arguments.neighbour then return of_neighbour(action, arguments.neighbour) end
  if action == "turn-on" then return nil, "This computer is on. For another, say which `neighbour`." end
  if action == "label" then
    local label = arguments.label
    if not label then return nil, "Say which `label`; an empty one takes it away." end
    if #label > LONGEST_LABEL then return nil, format("A label has %d letters at most.", LONGEST_LABEL) end
    if label:find("[%c\128-\255]") then return nil, "A label has letters without accents only." end
    local before = os.getComputerLabel()
    os.setComputerLabel(label ~= "" and label or nil)
    return format("Computer %d is called %s now%s.", os.getComputerID(), label ~= "" and label or "nothing",
      before and ", and was " .. before or "")
  end
  -- The agent answers for this, since neither comes back.
  if action == "reboot" then os.reboot() else os.shutdown() end
  return "It goes down now."
end

return { power = errors.kept_short(power) }
