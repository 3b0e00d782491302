-- Moves items between inventories of one wired network, as many at a time as the game carries out in a tick.

local errors = require("shared.errors")
local methods_of = require("shared.methods")
local words = require("shared.words")
local in_batches = require("parts.batches")

local concat, find, format, gsub = table.concat, string.find, string.format, string.gsub
local unpack = table.unpack or unpack

-- Names that an error lists.
local NAMES = 20
-- How often it is tried anew while some of it moves.
local ROUNDS = 20

-- The inventory of this turtle itself, as a place; and what stands for where each kind belongs.
local TURTLE, SORTED = "turtle", "sorted"
-- What has fewer slots is a machine or a hopper, not a place to keep things.
local LEAST_SLOTS = 9

local function reason(problem)
  return errors.reason(tostring(problem):sub(1, 300))
end

local function is_inventory(name)
  local has = methods_of(name)
  return has.list and has.pushItems and has.pullItems
end

local function inventories()
  local names = {}
  for _, name in ipairs(peripheral.getNames()) do
    if is_inventory(name) then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- What others on a wired network call this turtle; nil and why it can't be reached.
local function own_name()
  if not turtle then return nil, "This computer is no turtle, so it has no inventory of its own." end
  for _, name in ipairs(peripheral.getNames()) do
    local ok, wireless = pcall(peripheral.call, name, "isWireless")
    if ok and wireless == false then
      local found, known_as = pcall(peripheral.call, name, "getNameLocal")
      if found and known_as then return known_as end
    end
  end
  return nil, "This turtle is on no wired network: it takes a wired modem beside it that is switched on (a right click "
    .. "makes it red). Without one, turtle.suck and turtle.drop move what is right before it."
end

-- Whether what is said is a place; nil and why not.
local function place(name, known)
  if name == TURTLE then return own_name() end
  for _, other in ipairs(known) do
    if other == name then return name end
  end
  if #known == 0 then return nil, "This computer reaches no inventory." end
  return nil, format("%s is no inventory that this computer reaches; there are %s.", name, words.some(known, NAMES))
end

-- Whether a stack is of an item: by its whole name, or by what follows the colon.
local function is_of(stack, item)
  return not item or stack.name == item or gsub(stack.name, "^[^:]*:", "") == item
end

-- The stacks that are meant: a list of {from, slot, count, name}.
local function stacks_of(sources, item, slot)
  local by_source, calls, problems = {}, {}, {}
  for i, name in ipairs(sources) do
    if name == TURTLE then
      by_source[i] = {}
      for n = 1, 16 do by_source[i][n] = turtle.getItemDetail(n) end
    else
      calls[#calls + 1] = function()
        local ok, slots = pcall(peripheral.call, name, "list")
        if ok and slots then by_source[i] = slots else problems[#problems + 1] = name .. ": " .. reason(slots) end
      end
    end
  end
  in_batches(calls)
  local stacks = {}
  for i, name in ipairs(sources) do
    local slots = {}
    for n in pairs(by_source[i] or {}) do slots[#slots + 1] = n end
    table.sort(slots)
    for _, n in ipairs(slots) do
      local stack = by_source[i][n]
      if (not slot or n == slot) and is_of(stack, item) then
        stacks[#stacks + 1] = { from = name, slot = n, count = stack.count, name = stack.name }
      end
    end
  end
  return stacks, problems
end

-- What is in these stacks that has this in its name, as `list-items` would find it: how many of each.
local function alike_to(item, stacks)
  local counts, names = {}, {}
  local looked_for = gsub(item, "^minecraft:", ""):lower()
  for _, stack in ipairs(stacks) do
    local name = gsub(stack.name, "^minecraft:", "")
    if find(name:lower(), looked_for, 1, true) then
      if not counts[name] then names[#names + 1] = name end
      counts[name] = (counts[name] or 0) + stack.count
    end
  end
  table.sort(names)
  for i, name in ipairs(names) do names[i] = counts[name] .. " " .. name end
  return names
end

local function push(stack, count, to, to_slot, turtle_name)
  if stack.from == TURTLE then
    return peripheral.call(to, "pullItems", turtle_name, stack.slot, count, to_slot)
  end
  return peripheral.call(stack.from, "pushItems", to == TURTLE and turtle_name or to, stack.slot, count, to_slot)
end

-- Moves up to so many of these stacks; what moved, by source, and what went wrong.
local function carry(stacks, most, to, to_slot, turtle_name)
  local moved, by_source, problems, was_told = 0, {}, {}, {}
  for _ = 1, ROUNDS do
    local calls, left, before = {}, most - moved, moved
    for _, stack in ipairs(stacks) do
      local count = math.min(stack.count, left)
      if count > 0 then
        left = left - count
        calls[#calls + 1] = function()
          local ok, amount = pcall(push, stack, count, to, to_slot, turtle_name)
          if ok then
            amount = amount or 0
            moved, stack.count = moved + amount, stack.count - amount
            by_source[stack.from] = (by_source[stack.from] or 0) + amount
            return
          end
          stack.count = 0
          amount = reason(amount)
          if not was_told[stack.from] then problems[#problems + 1] = stack.from .. ": " .. amount end
          was_told[stack.from] = true
        end
      end
    end
    in_batches(calls)
    if moved >= most or moved == before then break end
  end
  return moved, by_source, problems
end

-- What is in each inventory, and how many slots it has, by name.
local function looked_into(names)
  local slots, sizes, calls = {}, {}, {}
  for _, name in ipairs(names) do
    calls[#calls + 1] = function()
      local ok, found = pcall(peripheral.call, name, "list")
      if ok then slots[name] = found end
    end
    calls[#calls + 1] = function()
      local ok, size = pcall(peripheral.call, name, "size")
      if ok then sizes[name] = size end
    end
  end
  in_batches(calls)
  return slots, sizes
end

-- Where kinds of items belong: the inventories that hold some, those with the most first; and the empty ones.
local function homes_of(places)
  local slots, sizes = looked_into(places)
  local homes, empty = {}, {}
  for _, name in ipairs(places) do
    if slots[name] and (sizes[name] or 0) >= LEAST_SLOTS then
      if not next(slots[name]) then empty[#empty + 1] = name end
      local counts = {}
      for _, stack in pairs(slots[name]) do counts[stack.name] = (counts[stack.name] or 0) + stack.count end
      for item, count in pairs(counts) do
        homes[item] = homes[item] or {}
        table.insert(homes[item], { name = name, count = count })
      end
    end
  end
  for _, all in pairs(homes) do
    table.sort(all, function(one, other)
      if one.count ~= other.count then return one.count > other.count end
      return one.name < other.name
    end)
  end
  return homes, empty
end

-- Moves stacks, each kind to where it is already, then to an empty inventory of its own: how many moved, and in words
-- where to; and what stayed.
local function sort_out(stacks, places, most, turtle_name)
  local kinds, by_kind = {}, {}
  for _, stack in ipairs(stacks) do
    if not by_kind[stack.name] then
      by_kind[stack.name] = {}
      kinds[#kinds + 1] = stack.name
    end
    table.insert(by_kind[stack.name], stack)
  end
  table.sort(kinds)
  local homes, empty = homes_of(places)
  local total, gone, stays, problems = 0, {}, {}, {}
  for _, kind in ipairs(kinds) do
    local left = 0
    for _, stack in ipairs(by_kind[kind]) do left = left + stack.count end
    left = math.min(left, most - total)
    local targets = homes[kind] or {}
    while left > 0 do
      local target = table.remove(targets, 1)
      if not target and #empty > 0 then target = { name = table.remove(empty, 1) } end
      if not target then break end
      local moved, _, wrong = carry(by_kind[kind], left, target.name, nil, turtle_name)
      if moved > 0 then gone[#gone + 1] = format("%d %s to %s", moved, gsub(kind, "^minecraft:", ""), target.name) end
      for _, one in ipairs(wrong) do problems[#problems + 1] = one end
      left, total = left - moved, total + moved
    end
    if left > 0 then stays[#stays + 1] = format("%d %s", left, gsub(kind, "^minecraft:", "")) end
  end
  return total, gone, stays, problems
end

local function advice(problems)
  local all = concat(problems, " ")
  -- What pushes has no target, what pulls no source.
  if not find(all, "Target '", 1, true) and not find(all, "Source '", 1, true) then return "" end
  return " Both have to be beside the computer (left, top, ...), or both on one wired network, each by a modem that is "
    .. "switched on; between the two nothing moves."
end

--- `move-items`.
local function move(arguments)
  local item, to = arguments.item, arguments.to
  local known = inventories()
  if to == SORTED and not arguments.from then return nil, "Say by `from` what is to be sorted into the others." end
  if to == SORTED and arguments.toSlot then
    return nil, "Sorted, items go to several places, so no toSlot can be said."
  end
  local found, problem
  if to ~= SORTED then
    found, problem = place(to, known)
    if not found then return nil, problem end
  end
  local turtle_name = to == TURTLE and found or nil
  local sources = {}
  if arguments.from then
    found, problem = place(arguments.from, known)
    if not found then return nil, problem end
    if arguments.from == TURTLE then turtle_name = found end
    if arguments.from == to and not arguments.toSlot then
      return nil, format("%s is where it comes from and where it goes: name another, or a toSlot.", to)
    end
    sources[1] = arguments.from
  else
    if arguments.slot then return nil, "A slot is one of an inventory: name it in `from`." end
    for _, name in ipairs(known) do
      if name ~= to then sources[#sources + 1] = name end
    end
  end

  local stacks, unread = stacks_of(sources, item, arguments.slot)
  local there = 0
  for _, stack in ipairs(stacks) do there = there + stack.count end
  local what = item or "item"
  local where = arguments.from or #sources .. " inventories"
  if arguments.slot then where = format("slot %d of %s", arguments.slot, where) end
  if there == 0 then
    local alike = item and alike_to(item, (stacks_of(sources, nil, arguments.slot))) or {}
    return nil, format("Nothing was moved: there is no %s in %s%s.%s", what, where,
      #alike > 0 and format("; there is %s", words.some(alike, NAMES)) or "",
      #unread > 0 and " Not read: " .. concat(unread, "; ") or "")
  end

  local most = math.min(there, arguments.count or math.huge)
  if to == SORTED then
    local places = {}
    for _, name in ipairs(known) do
      if name ~= arguments.from then places[#places + 1] = name end
    end
    local total, gone, stays, wrong = sort_out(stacks, places, most, turtle_name)
    local lines = { format("%d %s moved%s.", total, total == 1 and "item" or "items",
      #gone > 0 and ": " .. words.some(gone, NAMES) or "") }
    if #stays > 0 then
      lines[2] = format("Not moved: %s. No inventory holds such, or has room, and none is empty.",
        words.some(stays, NAMES))
    end
    if #wrong > 0 then lines[#lines + 1] = concat({ unpack(wrong, 1, 10) }, "; ") .. "." .. advice(wrong) end
    if total == 0 then return nil, concat(lines, "\n") end
    return concat(lines, "\n")
  end
  local moved, by_source, problems = carry(stacks, most, to, arguments.toSlot, turtle_name)
  local lines = { format("%d %s moved to %s.", moved, item or (moved == 1 and "item" or "items"), to) }
  local shares = {}
  for name, count in pairs(by_source) do
    if count > 0 then shares[#shares + 1] = format("%s %d", name, count) end
  end
  table.sort(shares)
  if #shares > 1 then
    lines[1] = lines[1] .. " From " .. words.some(shares, NAMES) .. "."
  end
  if arguments.count and arguments.count > there then
    lines[#lines + 1] = format("There were no more than %d of the %d in %s.", there, arguments.count, where)
  end
  if #problems > 0 then
    lines[#lines + 1] = "Not moved: " .. concat({ unpack(problems, 1, 10) }, "; ") .. "." .. advice(problems)
  elseif moved < most then
    lines[#lines + 1] = format("%d stay where they are: %s took no more, so %s.", most - moved, to,
      arguments.toSlot and "that slot is full, or holds something else"
        or "it is full, or takes no such items")
  end
  if moved == 0 then return nil, concat(lines, "\n") end
  return concat(lines, "\n")
end

return { move = errors.kept_short(move) }
