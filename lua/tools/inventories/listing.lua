-- What is in all inventories, tanks and batteries that a computer reaches, asked side by side.

local errors = require("shared.errors")
local methods_of = require("shared.methods")
local in_batches = require("parts.batches")

local format, sort = string.format, table.sort
local unpack = table.unpack or unpack

-- Characters that the items of an answer take, about; and how many tanks and batteries it names. Clients cut longer
-- answers.
local LONGEST, OTHERS = 24000, 30

-- The inventory of a turtle itself, as a place.
local TURTLE = "turtle"

-- Asks for all there is, and what went wrong, each by the name of where it is.
local function asked(wanted)
  local names = peripheral.getNames()
  sort(names)
  local found, calls = { order = {}, problems = {} }, {}
  local function ask(name, method, into)
    calls[#calls + 1] = function()
      local ok, value = pcall(peripheral.call, name, method)
      if ok then
        found[name][into] = value
      else
        local problem = errors.reason(tostring(value):sub(1, 300))
        found.problems[#found.problems + 1] = name .. ": " .. problem
      end
    end
  end
  for _, name in ipairs(names) do
    local has = methods_of(name)
    local is_inventory = has.list and has.size
    if (not wanted or wanted == name) and (is_inventory or has.tanks or has.getEnergy) then
      found[name] = { is_inventory = is_inventory }
      found.order[#found.order + 1] = name
      if is_inventory then
        ask(name, "list", "slots")
        ask(name, "size", "size")
      end
      if has.tanks then ask(name, "tanks", "tanks") end
      if has.getEnergy then
        ask(name, "getEnergy", "energy")
        if has.getEnergyCapacity then ask(name, "getEnergyCapacity", "capacity") end
      end
    end
  end
  in_batches(calls)
  if turtle and (not wanted or wanted == TURTLE) then
    local slots = {}
    for slot = 1, 16 do slots[slot] = turtle.getItemDetail(slot) end
    found[TURTLE] = { is_inventory = true, slots = slots, size = 16 }
    found.order[#found.order + 1] = TURTLE
  end
  return found
end

-- The items of all inventories: a list, the most first, of those that fit.
local function summed(found, query)
  local by_key, items = {}, {}
  for _, name in ipairs(found.order) do
    for slot, stack in pairs(found[name].slots or {}) do
      if not query or stack.name:lower():find(query, 1, true) then
        -- What differs in more than its name, such as enchanted books, is another item.
        local key = stack.name .. " " .. tostring(stack.nbt or "")
        local item = by_key[key]
        if not item then
          item = { name = stack.name, nbt = stack.nbt, count = 0, places = {} }
          by_key[key], items[#items + 1] = item, item
        end
        item.count = item.count + stack.count
        item.places[name] = item.places[name] or {}
        item.places[name][tostring(slot)] = stack.count
      end
    end
  end
  sort(items, function(one, other)
    if one.count ~= other.count then return one.count > other.count end
    return one.name .. tostring(one.nbt) < other.name .. tostring(other.nbt)
  end)
  return items
end

-- Where an item lies takes most of the room: of those that come last it is left out if there is too much, and then they
-- themselves. Returns what was left out, in words.
local function fit(items)
  local size, bare, gone = 0, 0, 0
  for i = #items, 1, -1 do size = size + #items[i].name + (items[i].nbt and 45 or 0) + 35 end
  while size > LONGEST and #items > 0 do
    local item = table.remove(items)
    size, gone = size - #item.name - (item.nbt and 45 or 0) - 35, gone + 1
  end
  for _, item in ipairs(items) do
    local places = 0
    for name, slots in pairs(item.places) do
      places = places + #name + 6
      for _ in pairs(slots) do places = places + 9 end
    end
    size = size + places
    if size > LONGEST then
      item.places, bare, size = nil, bare + 1, size - places
    end
  end
  if gone > 0 then
    return format("%d more items and the places of %d are not shown: narrow them down by query.", gone, bare)
  end
  if bare > 0 then return format("The places of %d items are not shown: narrow them down by query.", bare) end
  return nil
end

--- `list-items`.
local function list(arguments)
  local query = arguments.query and arguments.query:lower()
  local found = asked(arguments.inventory)
  if #found.order == 0 then
    if arguments.inventory then
      return nil, format("%s is no inventory that this computer reaches: list-peripherals shows what there is.",
        arguments.inventory)
    end
    return nil, "This computer reaches no inventory, tank or battery. Those beside it count, and those on a cable by "
      .. "wired modems that are switched on. Before CC:Tweaked 1.94 it takes another mod that makes them peripherals."
  end

  local items = summed(found, query)
  local kinds, total = #items, 0
  for _, item in ipairs(items) do total = total + item.count end
  local answer = { kinds = kinds, total = total }
  local inventories, slots, free = 0, 0, 0
  local tanks, energy = {}, {}
  for _, name in ipairs(found.order) do
    local place = found[name]
    if place.is_inventory and place.slots then
      local used = 0
      for _ in pairs(place.slots) do used = used + 1 end
      local size = place.size or used
      inventories, slots, free = inventories + 1, slots + size, free + size - used
    end
    for _, tank in pairs(place.tanks or {}) do
      if tank.name and not (query and not tank.name:lower():find(query, 1, true)) then
        tanks[#tanks + 1] = { at = name, name = tank.name, amount = tank.amount }
      end
    end
    if place.energy and not query then
      energy[#energy + 1] = { at = name, stored = place.energy, capacity = place.capacity }
    end
  end
  answer.inventories, answer.slots, answer.freeSlots = inventories, slots, free
  if #tanks > 0 then answer.tanks = { unpack(tanks, 1, OTHERS) } end
  if #energy > 0 then answer.energy = { unpack(energy, 1, OTHERS) } end
  answer.leftOut = fit(items)
  local more = math.max(#tanks - OTHERS, 0) + math.max(#energy - OTHERS, 0)
  if more > 0 then
    answer.leftOut = format("%s%d more tanks and batteries: ask for one by inventory.",
      answer.leftOut and answer.leftOut .. " " or "", more)
  end
  answer.items = json.array(items)
  if #found.problems > 0 then
    answer.problems = { unpack(found.problems, 1, 10) }
  end
  return answer
end

return { list = errors.kept_short(list) }
