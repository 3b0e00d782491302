-- Signals on the sides of a computer, and in bundled cables.

local errors = require("shared.errors")
local all_signals = require("parts.signals")

local game = redstone
local format, sort = string.format, table.sort

-- The colours by their names, as `colors` and `colours` have them.
local function colours_by_name()
  local values = {}
  for _, library in ipairs({ colors, colours }) do
    for name, value in pairs(library) do
      if type(value) == "number" then values[name] = value end
    end
  end
  return values
end

local function bundle_of(names, known)
  if type(names) == "string" then names = { names } end
  if type(names) ~= "table" then return nil, "Colours are a list of names, such as [\"red\"]." end
  local bundle = 0
  for _, name in ipairs(names) do
    if not known[name] then
      local all = {}
      for other in pairs(known) do all[#all + 1] = other end
      sort(all)
      return nil, format("There is no colour %s; there are %s.", tostring(name), table.concat(all, ", "))
    end
    if not colors.test(bundle, known[name]) then bundle = bundle + known[name] end
  end
  return bundle
end

local function level_of(value)
  if value == true then return 15 elseif value == false then return 0 end
  value = tonumber(value)
  if value and value >= 0 and value <= 15 and value % 1 == 0 then return value end
  return nil
end

-- All that is to be put out: {side = level}, {side = bundle}; or nil and what is wrong with it.
local function wanted(arguments, sides)
  local is_side, levels, bundles = {}, {}, {}
  for _, side in ipairs(sides) do is_side[side] = true end
  local function no_side(side)
    return nil, format("There is no side %s; there are %s. Nothing was set.", tostring(side), table.concat(sides, ", "))
  end
  for side, value in pairs(arguments.set or {}) do
    if not is_side[side] then return no_side(side) end
    levels[side] = level_of(value)
    if not levels[side] then
      return nil, format("A signal is 0 to 15, true or false, not %s. Nothing was set.", tostring(value))
    end
  end
  local known = colours_by_name()
  for side, names in pairs(arguments.bundled or {}) do
    if not is_side[side] then return no_side(side) end
    local bundle, problem = bundle_of(names, known)
    if not bundle then return nil, problem .. " Nothing was set." end
    bundles[side] = bundle
  end
  return levels, bundles
end

local function put_out(levels, bundles)
  for side, level in pairs(levels) do game.setAnalogOutput(side, level) end
  for side, bundle in pairs(bundles) do game.setBundledOutput(side, bundle) end
end

--- `redstone`.
local function set_and_read(arguments)
  local sides = game.getSides()
  local levels, bundles = wanted(arguments, sides)
  if not levels then return nil, bundles end
  if arguments.seconds and not next(levels) and not next(bundles) then
    return nil, "There is nothing to put back: say what to set."
  end

  local levels_before, bundles_before = {}, {}
  for side in pairs(levels) do levels_before[side] = game.getAnalogOutput(side) end
  for side in pairs(bundles) do bundles_before[side] = game.getBundledOutput(side) end
  put_out(levels, bundles)
  if arguments.seconds then
    sleep(arguments.seconds)
    put_out(levels_before, bundles_before)
  end
  return all_signals(sides)
end

return { redstone = errors.kept_short(set_and_read) }
