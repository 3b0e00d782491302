-- Lays out recipes in a crafty turtle's slots.

local blocks = require("parts.blocks")

local format = string.format

-- The slots that are the crafting grid, row by row.
local GRID = { { 1, 2, 3 }, { 5, 6, 7 }, { 9, 10, 11 } }

--- What a recipe wants by slot: `coal / stick` is one above the other, `-` is an empty place.
local function recipe_of(words)
  local wanted, row, column = {}, 1, 0
  for word in table.concat(words, " "):gsub("/", " / "):gmatch("%S+") do
    if word == "/" then
      row, column = row + 1, 0
    else
      column = column + 1
      local slot = GRID[row] and GRID[row][column]
      if not slot then return nil, "a recipe has up to 3 rows of 3, such as craft stone stone / - stick" end
      if word ~= "-" then wanted[slot] = word end
    end
  end
  return wanted
end

--- The item that a word of a recipe means: `planks` is any of them, the one of which there are most.
local function meant_by(word)
  local counts, best = {}, nil
  for slot = 1, 16 do
    local item = turtle.getItemDetail(slot)
    if item and (blocks.is_called(item.name, word) or item.name:sub(-#word - 1) == "_" .. word) then
      counts[item.name] = (counts[item.name] or 0) + item.count
      if not best or counts[item.name] > counts[best] then best = item.name end
    end
  end
  if not best then return nil, "it has no " .. word end
  return best, counts[best]
end

--- How many of an item are in a slot.
local function count_in(slot, name)
  local item = turtle.getItemDetail(slot)
  return item and item.name == name and item.count or 0
end

--- Empties the slots that a recipe needs for something else.
local function clear(names)
  for slot, name in pairs(names) do
    if turtle.getItemCount(slot) > 0 and count_in(slot, name) == 0 then
      local free
      for other = 16, 1, -1 do
        if not names[other] and turtle.getItemCount(other) == 0 then free = other end
      end
      if not free then return false, "it has no free slot to lay out the recipe by: drop something first" end
      turtle.select(slot)
      turtle.transferTo(free)
    end
  end
  return true
end

--- Shares out all there is of an item among its slots of the grid.
local function share_out(name, total, cells)
  local due = {}
  for i, slot in ipairs(cells) do due[slot] = math.floor(total / #cells) + (i <= total % #cells and 1 or 0) end
  for slot = 1, 16 do
    local spare = count_in(slot, name) - (due[slot] or 0)
    for _, cell in ipairs(cells) do
      local lacks = due[cell] - count_in(cell, name)
      if spare > 0 and lacks > 0 then
        turtle.select(slot)
        turtle.transferTo(cell, math.min(spare, lacks))
        spare = count_in(slot, name) - (due[slot] or 0)
      end
    end
  end
end

--- Lays what it carries into the grid as a recipe says it. The game crafts only if nothing is left beside.
return function(words)
  local wanted, why = recipe_of(words)
  if not wanted then return false, why end
  local names, totals, cells = {}, {}, {}
  for slot = 1, 16 do
    if wanted[slot] then
      local name, total = meant_by(wanted[slot])
      if not name then return false, total end
      names[slot], totals[name] = name, total
      cells[name] = cells[name] or {}
      table.insert(cells[name], slot)
    end
  end
  local ok
  ok, why = clear(names)
  if not ok then return false, why end
  for name, total in pairs(totals) do
    local needed = #cells[name]
    if total < needed then
      return false, format("it has only %d %s, and needs %d", total, blocks.short(name), needed)
    end
    share_out(name, total, cells[name])
  end
  for slot = 1, 16 do
    local item = not names[slot] and turtle.getItemDetail(slot)
    if item then
      return false, format("the game crafts only if nothing else is carried: drop the %d %s in slot %d first",
        item.count, blocks.short(item.name), slot)
    end
  end
  return true
end
