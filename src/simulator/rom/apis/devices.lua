-- turtle, pocket and commands: what each kind of computer has.
-- luacheck: globals turtle pocket commands help os

local native = ...
local error = native.error
local system, land, check, lift, at_least =
  native.os, native.land, native.check, native.language.lift, native.os.atLeast

if system.kind == "turtle" then
  turtle = {}

  --- Has the game carry an action out, and waits until it has.
  local function act(action, ...)
    local id = land.act(action, ...)
    if not id then return false, "Too many ongoing turtle commands" end
    local response
    repeat
      response = table.pack(os.pullEvent("turtle_response"))
    until response[2] == id
    return table.unpack(response, 3, response.n)
  end

  local function check_slot(index, slot, optional)
    check(index, slot, "number", optional)
    if slot and (slot < 1 or slot > 16) then error("Slot number " .. slot .. " out of range") end
  end

  local function check_count(index, count)
    check(index, count, "number", true)
    if count and (count < 0 or count > 64) then error("Item count " .. count .. " out of range") end
  end

  local function check_side(side)
    check(1, side, "string", true)
    if side and side ~= "left" and side ~= "right" then error("Invalid side") end
  end

  for _, name in ipairs { "forward", "back", "up", "down", "turnLeft", "turnRight", "equipLeft", "equipRight" } do
    turtle[name] = function() return act(name) end
  end
  for _, way in ipairs { "", "Up", "Down" } do
    for _, name in ipairs { "dig", "attack" } do
      turtle[name .. way] = function(side)
        check_side(side)
        return act(name .. way, side)
      end
    end
    for _, name in ipairs { "drop", "suck" } do
      turtle[name .. way] = function(count)
        check_count(1, count)
        return act(name .. way, count)
      end
    end
    for _, name in ipairs { "place", "detect", "compare", "inspect" } do
      turtle[name .. way] = function() return act(name .. way) end
    end
  end

  function turtle.select(slot)
    check_slot(1, slot)
    return act("select", slot)
  end

  function turtle.refuel(count)
    check_count(1, count)
    return act("refuel", count)
  end

  function turtle.transferTo(slot, count)
    check_slot(1, slot)
    check_count(2, count)
    return act("transferTo", slot, count)
  end

  function turtle.compareTo(slot)
    check_slot(1, slot)
    return act("compareTo", slot)
  end

  -- What is known without waiting.
  for _, name in ipairs { "getItemCount", "getItemSpace" } do
    turtle[name] = lift(function(slot)
      check_slot(1, slot, true)
      return land.read(name, slot)
    end)
  end
  for _, name in ipairs { "getSelectedSlot", "getFuelLevel", "getFuelLimit" } do
    turtle[name] = lift(function() return land.read(name) end)
  end

  function turtle.getItemDetail(slot, detailed)
    check_slot(1, slot, true)
    if not detailed or not at_least(1, 90) then return land.read("getItemDetail", slot) end
    return act("getItemDetail", slot or land.read("getSelectedSlot"))
  end

  if at_least(1, 116) then
    for _, name in ipairs { "getEquippedLeft", "getEquippedRight" } do
      turtle[name] = lift(function() return land.read(name) end)
    end
  end

  local function craft(count)
    check_count(1, count)
    return act("craft", count)
  end

  -- As in the game there is no `turtle.craft` without a crafting table on a side.
  setmetatable(turtle, {
    __index = function(_, name)
      if name == "craft" and land.read("canCraft") then return craft end
    end,
  })
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

help = {}
native.missing("help", help, "path setPath lookup topics completeTopic")
