-- turtle, pocket and commands: what each kind of computer has, in an empty world.
-- luacheck: globals turtle pocket commands paintutils help os

local native = ...
local error = native.error
local system, check, lift, at_least = native.os, native.check, native.language.lift, native.os.atLeast

--- Waits until the game has carried an action out; false if too many wait already.
local function carried_out(ticks)
  local id = system.turtleAction(ticks)
  if not id then return false end
  repeat
    local _, of = os.pullEvent("turtle_response")
  until of == id
  return true
end

if system.kind == "turtle" then
  turtle = {}
  local selected, fuel = 1, system.fuel or "unlimited"
  local slots = {}

  local function slot_of(slot)
    if slot == nil then return selected end
    check(1, slot, "number")
    if slot < 1 or slot > 16 then error("Slot number " .. slot .. " out of range") end
    return math.floor(slot)
  end

  local function action(ticks, act)
    return function(...)
      local results = table.pack(act(...))
      if not carried_out(ticks) then return false, "Too many ongoing turtle commands" end
      return table.unpack(results, 1, results.n)
    end
  end

  local function move() return action(8, function()
    if fuel == "unlimited" then return true end
    if fuel < 1 then return false, "Out of fuel" end
    fuel = fuel - 1
    return true
  end) end

  for _, name in ipairs { "forward", "back", "up", "down" } do turtle[name] = move() end
  for _, name in ipairs { "turnLeft", "turnRight" } do
    turtle[name] = action(8, function() return true end)
  end
  for _, way in ipairs { "", "Up", "Down" } do
    turtle["dig" .. way] = action(8, function() return false, "Nothing to dig here" end)
    turtle["attack" .. way] = action(8, function() return false, "Nothing to attack here" end)
    turtle["place" .. way] = action(8, function() return false, "No items to place" end)
    turtle["drop" .. way] = action(4, function() return false, "No items to drop" end)
    turtle["suck" .. way] = action(4, function() return false, "No items to take" end)
    turtle["detect" .. way] = action(0, function() return false end)
    turtle["compare" .. way] = action(0, function() return false end)
    turtle["inspect" .. way] = action(0, function() return false, "No block to inspect" end)
  end

  function turtle.select(slot)
    check(1, slot, "number")
    selected = slot_of(slot)
    return true
  end

  function turtle.getSelectedSlot() return selected end

  function turtle.getItemCount(slot) return (slots[slot_of(slot)] or { count = 0 }).count end

  function turtle.getItemSpace(slot) return 64 - turtle.getItemCount(slot_of(slot)) end

  function turtle.getItemDetail(slot) return slots[slot_of(slot)] end

  function turtle.getFuelLevel() return fuel end

  function turtle.getFuelLimit()
    if fuel == "unlimited" then return fuel end
    return system.advanced and 100000 or 20000
  end

  turtle.refuel = action(0, function() return false, "No items to combust" end)
  turtle.transferTo = action(0, function(slot)
    slot_of(slot)
    return false, "No space for items"
  end)
  turtle.compareTo = action(0, function(slot) return slots[selected] == slots[slot_of(slot)] end)

  for _, name in ipairs {
    "select", "getSelectedSlot", "getItemCount", "getItemSpace", "getItemDetail", "getFuelLevel", "getFuelLimit",
  } do
    turtle[name] = lift(turtle[name])
  end

  native.missing("turtle", turtle, "equipLeft equipRight craft")
  if at_least(1, 116) then native.missing("turtle", turtle, "getEquippedLeft getEquippedRight") end
elseif system.kind == "pocket" then
  pocket = {}
  function pocket.equipBack() return false, "Cannot find a valid upgrade" end

  function pocket.unequipBack() return false, "Nothing to unequip" end
elseif system.kind == "command" then
  commands = {}

  function commands.exec(command)
    check(1, command, "string")
    sleep(0)
    return false, { "Unknown command" }, 0
  end

  function commands.getBlockPosition() return 0, 64, 0 end

  function commands.list()
    sleep(0)
    return {}
  end

  native.missing("commands", commands, "execAsync getBlockInfo getBlockInfos native async")
end

---------------------------------------------------------------- APIs that are all there is to come

paintutils = {}
native.missing("paintutils", paintutils, "parseImage loadImage drawPixel drawLine drawBox drawFilledBox drawImage")

help = {}
native.missing("help", help, "path setPath lookup topics completeTopic")
