-- Stands in for 40 chests, a monitor, a computer and a wired modem. A method of a chest takes a tick;
-- `peripheral.rounds` counts the ticks that all calls took, those at the same time as one.
-- luacheck: globals peripheral
local chests = {}
for i = 0, 39 do chests["minecraft:chest_" .. i] = { size = 27, slots = {} } end
chests["minecraft:chest_1"].slots = {
  [1] = { name = "minecraft:coal", count = 64 }, [5] = { name = "minecraft:coal", count = 10 },
  [7] = { name = "minecraft:enchanted_book", count = 1, nbt = "aa" },
}
chests["minecraft:chest_2"].slots = {
  [2] = { name = "minecraft:coal", count = 3 }, [3] = { name = "minecraft:enchanted_book", count = 1, nbt = "bb" },
}
chests["minecraft:chest_39"].size = 1

local rounds, is_new = 0, true
local function tick()
  if is_new then rounds, is_new = rounds + 1, false end
  local timer = os.startTimer(0)
  repeat local _, id = os.pullEvent("timer") until id == timer
  is_new = true
end

local function transfer(from, to, slot, limit, to_slot)
  local stack, moved = from.slots[slot], 0
  if not stack then return 0 end
  for into = to_slot or 1, to_slot or to.size do
    local there = to.slots[into]
    if not there or there.name == stack.name and there.nbt == stack.nbt then
      local count = math.min(limit or 64, stack.count) - moved
      count = math.min(count, 64 - (there and there.count or 0))
      if count > 0 then
        to.slots[into] = { name = stack.name, nbt = stack.nbt, count = (there and there.count or 0) + count }
        moved = moved + count
      end
    end
  end
  stack.count = stack.count - moved
  if stack.count == 0 then from.slots[slot] = nil end
  return moved
end

local function chest_of(name)
  return chests[name] or error("Target '" .. name .. "' does not exist", 0)
end

local chest = {
  list = function(name)
    tick()
    local slots = {}
    for slot, stack in pairs(chests[name].slots) do
      slots[slot] = { name = stack.name, count = stack.count, nbt = stack.nbt }
    end
    return slots
  end,
  size = function(name) tick() return chests[name].size end,
  pushItems = function(name, to, slot, limit, to_slot)
    tick()
    return transfer(chests[name], chest_of(to), slot, limit, to_slot)
  end,
  pullItems = function(name, from, slot, limit, to_slot)
    tick()
    return transfer(chest_of(from), chests[name], slot, limit, to_slot)
  end,
}
local others = {
  monitor_0 = {
    type = "monitor", write = function(...) return ... end, getSize = function() return 7, 5 end,
    fails = function() error("it is broken", 0) end,
    much = function() return ("x"):rep(100000) end, deep = function() local t = {} t.t = t return t, nil, print end,
  },
  computer_7 = {
    type = "computer", turnOn = function() end, getID = function() return 7 end,
    getLabel = function() return "seven" end, isOn = function() return true end,
  },
  back = {
    type = "modem", isWireless = function() return false end, getNameLocal = function() return "computer_1" end,
  },
  battery_0 = { type = "battery", getEnergy = function() return 5 end, getEnergyCapacity = function() return 10 end },
  tank_0 = { type = "tank", tanks = function() return { { name = "minecraft:lava", amount = 500 }, {} } end },
}

local function methods_of(name)
  return chests[name] and chest or others[name]
end

function peripheral.rounds()
  local count = rounds
  rounds = 0
  return count
end

function peripheral.getNames()
  local names = {}
  for name in pairs(chests) do names[#names + 1] = name end
  for name in pairs(others) do names[#names + 1] = name end
  return names
end

function peripheral.isPresent(name) return methods_of(name) ~= nil end

function peripheral.getType(name)
  if chests[name] then return "minecraft:chest", "inventory" end
  return others[name] and others[name].type
end

function peripheral.getMethods(name)
  if not methods_of(name) then return nil end
  local methods = {}
  for method, f in pairs(methods_of(name)) do
    if type(f) == "function" then methods[#methods + 1] = method end
  end
  return methods
end

function peripheral.call(name, method, ...)
  if chests[name] then return chest[method](name, ...) end
  return others[name][method](...)
end
