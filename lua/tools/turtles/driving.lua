-- turtle, turtle-status: drives a turtle by steps, keeps where it is, and tells how it is.
--
-- Two frames are kept apart. In the call's own the turtle began at 0 0 0 and looked north; that is always known. Where
-- that frame lies in the world (`base`) is known from GPS, or from what the call before has kept. Without either, where
-- the turtle first was is 0 0 0 and it looked north: what is told then says so.

local FILE = "/.mcp-turtle"

-- How often one block is dug for: gravel falls after.
local DIGS = 64
-- How often a block on is tried where something may walk away.
local TRIES = 5
-- How long GPS is waited for, in seconds.
local GPS_SECONDS = 1
-- The longest way that is kept, to be gone back on, in blocks.
local WAY = 10000
-- How many steps a call has, once those that repeat others are written out.
local STEPS_OF_A_CALL = 10000

local HEADINGS = { [0] = "north", "east", "south", "west" }
-- What a block on changes, by heading.
local AHEAD = { [0] = { 0, -1 }, { 1, 0 }, { 0, 1 }, { -1, 0 } }
local ENDS = { front = "", up = "Up", down = "Down" }

-- The slots that are the crafting grid, row by row.
local GRID = { { 1, 2, 3 }, { 5, 6, 7 }, { 9, 10, 11 } }
-- The age at which a plant is ripe; of others that have an age, 7.
local RIPE = { beetroots = 3, nether_wart = 3, sweet_berry_bush = 3, cocoa = 2 }

local NO_TURTLE = "Only turtles can do that; this computer isn't one. list-computers tells which are."

local format = string.format

--- Quarter turns to the right, of what lies x to the east and z to the south.
local function rotate(x, z, turns)
  for _ = 1, turns % 4 do x, z = -z, x end
  return x, z
end

--- A place as a table's key.
local function key_of(x, y, z) return x .. " " .. y .. " " .. z end

local function short(name) return (name:gsub("^minecraft:", "")) end

--- Whether a name is meant: as a whole, or without what is before the colon.
local function is_called(name, wanted)
  return name == wanted or name:match(":(.*)$") == wanted
end

local function count_text(count, singular) return count .. " " .. singular .. (count == 1 and "" or "s") end

---------------------------------------------------------------- where the turtle is

--- What the call before has kept, if the turtle has not moved since, which costs fuel; and whether something was kept
-- that does not hold any more. A call may have ended while the turtle was on its way to a place: that is kept before.
local function kept()
  local file = fs.open(FILE, "rb")
  if not file then return nil, false end
  local text = file.readAll() or ""
  file.close()
  local x, y, z, heading, fuel, by_gps, rest = text:match("^(%-?%d+) (%-?%d+) (%-?%d+) (%d) (%S+) (%a+)(.*)")
  if not x then return nil, false end
  -- It may be under way even now: what is asked of it next is done after.
  if rest ~= "" then turtle.detect() end
  local now = turtle.getFuelLevel()
  local to_x, to_y, to_z = rest:match("^ to (%-?%d+) (%-?%d+) (%-?%d+)")
  if to_x and (now == "unlimited" or now + 1 == tonumber(fuel)) then
    x, y, z = to_x, to_y, to_z
  elseif fuel ~= tostring(now) then
    return nil, true
  end
  return {
    x = tonumber(x), y = tonumber(y), z = tonumber(z), by_gps = by_gps == "gps",
    heading = not rest:find("turns", 1, true) and tonumber(heading) or nil,
  }, false
end

--- Keeps where the turtle is, and what it is about to do: ` turns`, or ` to ` a place.
local function keep(place, about)
  if not place or not place.heading then
    if fs.exists(FILE) then pcall(fs.delete, FILE) end
    return
  end
  local file = fs.open(FILE, "wb")
  -- Where the disk is full it is not kept.
  if not file then return end
  pcall(file.write, format("%d %d %d %d %s %s%s", place.x, place.y, place.z, place.heading,
    tostring(turtle.getFuelLevel()), place.by_gps and "gps" or "own", about or ""))
  pcall(file.close)
end

--- Where GPS says that the turtle is, if it has a modem for it and there is GPS.
local function located()
  for _, name in ipairs(peripheral.getNames()) do
    if (peripheral.getType(name)) == "modem" and peripheral.call(name, "isWireless") then
      local x, y, z = gps.locate(GPS_SECONDS)
      if not x then return nil end
      return math.floor(x + 0.5), math.floor(y + 0.5), math.floor(z + 0.5)
    end
  end
end

--- What is known of where the turtle is, with a heading or without one; and whether what was known is lost.
local function found()
  local place, is_lost = kept()
  if place and place.by_gps then return place end
  local x, y, z = located()
  if x then return { x = x, y = y, z = z, by_gps = true, heading = nil } end
  return place, is_lost or place ~= nil and not place.heading
end

local function place_text(place)
  if not place then return "its place is not known" end
  local heading = place.heading and ", facing " .. HEADINGS[place.heading] or ", heading not known"
  local at = format("at %d %d %d%s", place.x, place.y, place.z, heading)
  return place.by_gps and at .. " (GPS)" or at .. " (counted from where it was first driven; there is no GPS)"
end

---------------------------------------------------------------- one call

local Drive = {}
Drive.__index = Drive

local function new_drive(dig)
  local base, is_lost = found()
  if not base or is_lost then base = { x = 0, y = 0, z = 0, heading = 0, by_gps = false } end
  return setmetatable({
    base = base, dig = dig, is_lost = is_lost,
    x = 0, y = 0, z = 0, heading = 0,
    way = {}, filled = {}, dug = {}, seen = {}, passed = {}, taken_off = {},
  }, Drive)
end

--- Where the turtle is in the world; nil if that is not known any more.
function Drive:place()
  local base = self.base
  if not base.heading then
    if self.x ~= 0 or self.z ~= 0 then return nil end
    return { x = base.x, y = base.y + self.y, z = base.z, by_gps = base.by_gps }
  end
  local x, z = rotate(self.x, self.z, base.heading)
  return {
    x = base.x + x, y = base.y + self.y, z = base.z + z, heading = (base.heading + self.heading) % 4,
    by_gps = base.by_gps,
  }
end

--- Keeps that the turtle is about to go to a place of the call's own frame.
function Drive:keep_on_way(x, y, z)
  local base = self.base
  if not base.heading then return keep(nil) end
  local to_x, to_z = rotate(x, z, base.heading)
  keep(self:place(), format(" to %d %d %d", base.x + to_x, base.y + y, base.z + to_z))
end

--- Learns the heading from where the turtle has gone, by GPS. What is known of it may be wrong: another program may
-- have turned the turtle, which costs no fuel.
function Drive:learn()
  local base = self.base
  if not base.by_gps or (self.x == 0 and self.z == 0) then return end
  local x, _, z = located()
  if not x then return end
  for turns = 0, 3 do
    local gone_x, gone_z = rotate(self.x, self.z, turns)
    if base.x + gone_x == x and base.z + gone_z == z then base.heading = turns end
  end
end

function Drive:turn(heading)
  heading = heading % 4
  if heading == self.heading then return true end
  keep(self:place(), " turns")
  local ok, why = true, nil
  if (heading - self.heading) % 4 == 3 then
    ok, why = turtle.turnLeft()
    if ok then self.heading = heading end
  end
  while ok and self.heading ~= heading do
    ok, why = turtle.turnRight()
    if ok then self.heading = (self.heading + 1) % 4 end
  end
  keep(self:place())
  return ok, why
end

--- What is there, by its name; nil if nothing is.
local function inspected(side)
  local ok, block = turtle["inspect" .. ENDS[side]]()
  return ok and block.name or nil
end

--- Digs what is there until nothing more falls after.
function Drive:dig_out(side)
  local any = false
  for _ = 1, DIGS do
    local name = inspected(side)
    local ok, why = turtle["dig" .. ENDS[side]]()
    if not ok then return any, why end
    any = true
    if name then self.dug[name] = (self.dug[name] or 0) + 1 end
    if not turtle["detect" .. ENDS[side]]() then return true end
  end
  return true
end

local MOVES = {
  forward = { side = "front", along = 1 }, back = { along = -1 }, up = { side = "up", rise = 1 },
  down = { side = "down", rise = -1 },
}

--- One block on. What is in the way is dug or fought if that is wanted.
function Drive:move(name, is_return)
  local move = MOVES[name]
  local ok, why
  local ahead = AHEAD[self.heading]
  local x, y = self.x + ahead[1] * (move.along or 0), self.y + (move.rise or 0)
  local z = self.z + ahead[2] * (move.along or 0)
  self:keep_on_way(x, y, z)
  for try = 1, TRIES do
    ok, why = turtle[name]()
    if ok or not (self.dig and move.side) or why == "Out of fuel" then break end
    local dug, problem = self:dig_out(move.side)
    if not dug and not turtle["attack" .. ENDS[move.side]]() then
      if try == TRIES or turtle["detect" .. ENDS[move.side]]() then return false, problem or why end
      sleep(0.2)
    end
  end
  if not ok then
    local there = move.side and inspected(move.side)
    if there and why ~= "Out of fuel" then why = format("%s by %s", tostring(why), short(there)) end
    if why == "Out of fuel" then why = "Out of fuel: add the step refuel before it, with fuel in its slots" end
    return false, why
  end
  self.x, self.y, self.z = x, y, z
  self.filled[key_of(self.x, self.y, self.z)] = nil
  if not is_return and #self.way < WAY then self.way[#self.way + 1] = { self.x, self.y, self.z } end
  keep(self:place())
  return true
end

--- Goes so far into the direction of a heading of the call's own frame.
function Drive:go(heading, blocks)
  if blocks == 0 then return true end
  local ok, why = self:turn(heading)
  for _ = 1, ok and blocks or 0 do
    ok, why = self:move("forward")
    if not ok then return false, why end
  end
  return ok, why
end

--- Makes sure that the heading is known: by GPS, before and after a block on.
function Drive:need_heading()
  if self.base.heading then return true end
  self:learn()
  for _ = 1, 4 do
    if self.base.heading then return true end
    local ok = self:move("forward")
    if ok then
      self:learn()
      self:move("back")
    else
      self:turn(self.heading + 1)
    end
  end
  if self.base.heading then return true end
  return false, "which way it looks is not known, and it can't move to find out"
end

--- To a place of the call's own frame: up first and down last, over what is between.
function Drive:go_to(x, y, z)
  for _ = 1, y - self.y do
    local ok, why = self:move("up")
    if not ok then return false, why end
  end
  for _, leg in ipairs { { x - self.x, 1, 3 }, { z - self.z, 2, 0 } } do
    local ok, why = self:go(leg[1] > 0 and leg[2] or leg[3], math.abs(leg[1]))
    if not ok then return false, why end
  end
  for _ = 1, self.y - y do
    local ok, why = self:move("down")
    if not ok then return false, why end
  end
  return true
end

-- What is beside a place.
local BESIDE = { { 0, 0, -1 }, { 0, 0, 1 }, { -1, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0, -1, 0 } }

--- The place that is on a side of the turtle.
function Drive:key_beside(side)
  local ahead = side == "front" and AHEAD[self.heading] or { 0, 0 }
  local rise = side == "up" and 1 or side == "down" and -1 or 0
  return key_of(self.x + ahead[1], self.y + rise, self.z + ahead[2])
end

--- To a place beside the turtle.
function Drive:step_to(x, y, z)
  x, y, z = x - self.x, y - self.y, z - self.z
  if y ~= 0 then return self:move(y > 0 and "up" or "down", true) end
  local ahead = AHEAD[self.heading]
  if ahead[1] == -x and ahead[2] == -z then return self:move("back", true) end
  for heading = 0, 3 do
    if AHEAD[heading][1] == x and AHEAD[heading][2] == z then
      local ok, why = self:turn(heading)
      if not ok then return false, why end
    end
  end
  return self:move("forward", true)
end

--- Back by where it came, which is free but for what it has put there itself, and turned as it was. Where its way went
-- past itself, it goes straight across.
function Drive:go_home()
  local way, at = self.way, { [key_of(0, 0, 0)] = 0 }
  for n, place in ipairs(way) do
    local key = key_of(place[1], place[2], place[3])
    if not self.filled[key] then at[key] = at[key] or n end
  end
  local now = #way + 1
  while self.x ~= 0 or self.y ~= 0 or self.z ~= 0 do
    local next_one
    for _, by in ipairs(BESIDE) do
      local n = at[key_of(self.x + by[1], self.y + by[2], self.z + by[3])]
      if n and n < now and (not next_one or n < next_one) then next_one = n end
    end
    -- It has built over its way, or the way was too long to be kept.
    if not next_one then
      local ok, why = self:go_to(0, 0, 0)
      if not ok then return false, why end
      break
    end
    local to = way[next_one] or { 0, 0, 0 }
    local ok, why = self:step_to(to[1], to[2], to[3])
    if not ok then return false, why end
    now = next_one
    for n = #way, now + 1, -1 do way[n] = nil end
  end
  self.way = {}
  return self:turn(0)
end

---------------------------------------------------------------- steps

--- The slot of an item: of that number, or the first with an item of that name.
local function slot_of(wanted)
  local number = tonumber(wanted)
  if number then
    if number < 1 or number > 16 or number % 1 ~= 0 then return nil, "slots are from 1 to 16" end
    return number
  end
  for slot = 1, 16 do
    local item = turtle.getItemDetail(slot)
    if item and is_called(item.name, wanted) then return slot end
  end
  return nil, "it has no " .. wanted
end

--- Selects what a step names, if it names something.
local function select_for(step)
  if not step.word then return true end
  local slot, why = slot_of(step.word)
  if not slot then return false, why end
  return turtle.select(slot)
end

--- Repeats what a step counts, and tells how far it came.
local function times(step, act)
  local count = step.number or 1
  for n = 1, count do
    local ok, why = act()
    if not ok then return false, count > 1 and format("%s (after %d of %d)", tostring(why), n - 1, count) or why end
  end
  return true
end

--- Burns what there is to burn: so many items, of the selected slot first.
local function refuel(count)
  local before, selected, left = turtle.getFuelLevel(), turtle.getSelectedSlot(), count or math.huge
  if before == "unlimited" then return true end
  for n = 0, 15 do
    local slot = (selected + n - 1) % 16 + 1
    local have = turtle.getItemCount(slot)
    if have > 0 and left > 0 then
      turtle.select(slot)
      local used = math.min(have, left)
      if turtle.refuel(used) then left = left - used end
    end
  end
  turtle.select(selected)
  if turtle.getFuelLevel() <= before then return false, "nothing in its slots burns" end
  return true
end

---------------------------------------------------------------- crafting

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
    if item and (is_called(item.name, word) or item.name:sub(-#word - 1) == "_" .. word) then
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
local function lay_out(words)
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
    if total < needed then return false, format("it has only %d %s, and needs %d", total, short(name), needed) end
    share_out(name, total, cells[name])
  end
  for slot = 1, 16 do
    local item = not names[slot] and turtle.getItemDetail(slot)
    if item then
      return false, format("the game crafts only if nothing else is carried: drop the %d %s in slot %d first",
        item.count, short(item.name), slot)
    end
  end
  return true
end

---------------------------------------------------------------- the steps themselves

local STEPS = {}

for _, name in ipairs { "forward", "back", "up", "down" } do
  STEPS[name] = function(drive, step) return times(step, function() return drive:move(name) end) end
end

function STEPS.left(drive, step) return times(step, function() return drive:turn(drive.heading - 1) end) end

function STEPS.right(drive, step) return times(step, function() return drive:turn(drive.heading + 1) end) end

--- Whether a block is all that words say of it: a name, or ripe.
local function is_as_said(block, words)
  for _, word in ipairs(words) do
    if word == "ripe" then
      local age = block.state and tonumber(block.state.age) or block.metadata
      if not age or age < (RIPE[block.name:match(":(.*)$")] or 7) then return false end
    elseif not is_called(block.name, word) then
      return false
    end
  end
  return true
end

function STEPS.dig(drive, step)
  if #step.words > 0 then
    local is_there, block = turtle["inspect" .. ENDS[step.side]]()
    if not is_there or not is_as_said(block, step.words) then return true end
  end
  return drive:dig_out(step.side)
end

function STEPS.attack(_, step) return times(step, turtle["attack" .. ENDS[step.side]]) end

function STEPS.inspect(drive, step)
  local is_there, block = turtle["inspect" .. ENDS[step.side]]()
  local what = is_there and short(block.name) or "nothing"
  if is_there and block.state and block.state.age then what = format("%s (age %s)", what, tostring(block.state.age)) end
  drive.seen[#drive.seen + 1] = (step.side == "front" and "in front" or step.side) .. ": " .. what
  return true
end

function STEPS.place(drive, step)
  step.word, step.number = step.word or step.number, nil
  local ok, why = select_for(step)
  if not ok then return false, why end
  ok, why = turtle["place" .. ENDS[step.side]]()
  if ok then drive.filled[drive:key_beside(step.side)] = true end
  return ok, why
end

function STEPS.select(_, step)
  step.word = step.word or step.number
  if not step.word then return false, "say what: select 3, or select coal" end
  return select_for(step)
end

for _, name in ipairs { "drop", "suck" } do
  STEPS[name] = function(_, step)
    local ok, why
    if name == "drop" then
      ok, why = select_for(step)
      if not ok then return false, why end
    end
    return turtle[name .. ENDS[step.side]](step.number and math.min(step.number, 64))
  end
end

function STEPS.refuel(_, step)
  local ok, why = select_for(step)
  if not ok then return false, why end
  return refuel(step.number)
end

function STEPS.craft(_, step)
  if not turtle.craft then return false, "it has no crafting table on a side: select one, then equip left" end
  if #step.words > 0 then
    local ok, why = lay_out(step.words)
    if not ok then return false, why end
  end
  return turtle.craft(step.number)
end

function STEPS.equip(drive, step)
  local side = step.word or "left"
  local slot = turtle.getSelectedSlot()
  local before = turtle.getItemDetail(slot)
  local ok, why = (side == "right" and turtle.equipRight or turtle.equipLeft)()
  if not ok then return false, why end
  local after = turtle.getItemDetail(slot)
  if after and not (before and before.name == after.name) then
    drive.taken_off[#drive.taken_off + 1] = format("%s from its %s, now in slot %d", short(after.name), side, slot)
  end
  return true
end

local function heading_of(wanted)
  for heading, name in pairs(HEADINGS) do
    if name == wanted then return heading end
  end
end

function STEPS.face(drive, step)
  local ok, why = drive:need_heading()
  if not ok then return false, why end
  return drive:turn(heading_of(step.word) - drive.base.heading)
end

STEPS["goto"] = function(drive, step)
  local x, y, z = step.numbers[1], step.numbers[2], step.numbers[3]
  local ok, why = drive:need_heading()
  if not ok then return false, why end
  local base = drive.base
  local own_x, own_z = rotate(x - base.x, z - base.z, 4 - base.heading)
  local own_y = y - base.y
  local fuel = turtle.getFuelLevel()
  local needed = math.abs(own_x - drive.x) + math.abs(own_y - drive.y) + math.abs(own_z - drive.z)
  if type(fuel) == "number" and fuel < needed then
    return false, format("it needs at least %d fuel to get there, and has %d: it has not gone; refuel it, or send it "
      .. "part of the way", needed, fuel)
  end
  return drive:go_to(own_x, own_y, own_z)
end

function STEPS.home(drive) return drive:go_home() end

-- How many words and numbers follow a step's name, and whether it has a side.
local TAKES = {
  forward = { 0, 1 }, back = { 0, 1 }, up = { 0, 1 }, down = { 0, 1 }, left = { 0, 1 }, right = { 0, 1 },
  dig = { math.huge, 0, true }, attack = { 0, 1, true }, inspect = { 0, 0, true }, place = { 1, 1, true },
  select = { 1, 1 }, drop = { 1, 1, true }, suck = { 0, 1, true }, refuel = { 1, 1 }, craft = { math.huge, 1 },
  equip = { 1, 0 }, face = { 1, 0 }, ["goto"] = { 0, 3 }, home = { 0, 0 },
}

--- Why a step is none, as far as can be told before it is done; nil if it is one.
local function unfit(step)
  local name, takes = step.name, TAKES[step.name]
  if name == "face" and not heading_of(step.word) then return "say which way: face north, east, south or west" end
  if name == "goto" and #step.numbers < 3 then return "say where: goto X Y Z" end
  if name == "select" and not (step.word or step.number) then return "say what: select 3, or select coal" end
  if name == "equip" and step.word and step.word ~= "left" and step.word ~= "right" then
    return "select the item first, then say equip left or equip right"
  end
  local extra = step.words[takes[1] + 1] or step.numbers[takes[2] + 1]
  if (name == "place" or name == "select") and step.word then extra = extra or step.number end
  if step.side ~= "front" and not takes[3] then extra = extra or step.side end
  if extra then
    return format("%s takes no %s there%s", name, tostring(extra),
      tonumber(extra) and takes[2] == 0 and ": to repeat it, say repeat N: " .. name or "")
  end
end

local OTHER_NAMES = { turnleft = "left", turnright = "right" }

--- Reads a step: `digUp`, `place 2 up`, `drop coal 5`, `suck?`.
local function parse(text)
  local step = { side = "front", numbers = {}, words = {}, text = text:match("^%s*(.-)%s*$") }
  local sure = step.text:match("^(.-)%s*%?$")
  step.may_fail, text = sure ~= nil, sure or text
  for word in text:gmatch("%S+") do
    local lower = word:lower()
    if not step.name then
      local name, way = lower:match("^(%l+)(up)$")
      if not name then name, way = lower:match("^(%l+)(down)$") end
      if name and STEPS[name] and not STEPS[lower] then
        step.name, step.side = name, way
      else
        step.name = OTHER_NAMES[lower] or lower
      end
    elseif tonumber(word) then
      step.numbers[#step.numbers + 1] = tonumber(word)
      step.number = step.number or tonumber(word)
    elseif lower == "up" or lower == "down" then
      step.side = lower
    elseif lower ~= "front" and lower ~= "forward" then
      step.word = lower
      step.words[#step.words + 1] = lower
    end
  end
  if not STEPS[step.name] then
    return nil, "there is no such step; there are attack, back, craft, dig, down, drop, equip, face, forward, goto, "
      .. "home, inspect, left, place, refuel, repeat N: ..., right, select, suck, up"
  end
  for _, number in ipairs(step.numbers) do
    if number % 1 ~= 0 or (step.name ~= "goto" and (number < 0 or number > 10000)) then
      return nil, "numbers are whole, and at most 10000"
    end
  end
  local why = unfit(step)
  if why then return nil, why end
  return step
end

--- Adds to a list what a text says is to be done: steps with `;` between. `repeat 3: dig; forward` repeats all that
-- follows it, or what is in brackets: `repeat 3: (repeat 2: forward); dig up`.
local function read(text, list)
  local rest = text:match("^%s*(.-)%s*$")
  repeat
    local count, body = rest:match("^[Rr]epeat%s+(%d+)%s*:%s*(.*)$")
    local group, after = rest:match("^(%b())%s*;?%s*(.*)$")
    if count or group then
      local rounds, some = tonumber(count or 1), {}
      local ok, why = read(body or group:sub(2, -2), some)
      if not ok then return nil, why end
      if #list + rounds * #some > STEPS_OF_A_CALL then
        return nil, format("with it there are more than %d steps", STEPS_OF_A_CALL)
      end
      for round = 1, rounds do
        for _, one in ipairs(some) do
          local label = count and format(" in round %d of %d", round, rounds) or ""
          list[#list + 1] = { step = one.step, round = one.round .. label }
        end
      end
      rest = count and "" or after
    else
      local first
      first, rest = rest:match("^([^;]*);?%s*(.*)$")
      local step, why = parse(first)
      if not step then return nil, why end
      list[#list + 1] = { step = step, round = "" }
    end
  until rest == ""
  return true
end

---------------------------------------------------------------- what is told

local function fuel_text()
  local fuel = turtle.getFuelLevel()
  if fuel == "unlimited" then return "fuel unlimited" end
  return format("fuel %d of %d", fuel, turtle.getFuelLimit())
end

local function dug_text(dug)
  local names, parts = {}, {}
  for name in pairs(dug) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do parts[#parts + 1] = dug[name] .. " " .. short(name) end
  return table.concat(parts, ", ")
end

--- The steps with a question mark that failed, and why the last time.
local function passed_text(passed)
  local parts = {}
  for text, failed in pairs(passed) do
    local times_text = failed.count > 1 and format(", %d times", failed.count) or ""
    parts[#parts + 1] = format("`%s` (%s%s)", text, tostring(failed.why), times_text)
  end
  table.sort(parts)
  return table.concat(parts, ", ")
end

--- How the turtle is after the steps, in lines.
local function told(drive, first)
  drive:learn()
  local place = drive:place()
  keep(place)
  local lines = { first, "Now " .. place_text(place) .. "; " .. fuel_text() .. "." }
  if drive.is_lost then
    lines[#lines + 1] = "Where it was before is lost: it has moved or turned since, or a call ended on its way. Where "
      .. "this call began is 0 0 0 now, and it looked north."
  end
  if next(drive.dug) then lines[#lines + 1] = "Dug: " .. dug_text(drive.dug) .. "." end
  if next(drive.passed) then lines[#lines + 1] = "Failed, and passed over: " .. passed_text(drive.passed) .. "." end
  if #drive.taken_off > 0 then lines[#lines + 1] = "Taken off: " .. table.concat(drive.taken_off, "; ") .. "." end
  if #drive.seen > 0 then lines[#lines + 1] = "Seen: " .. table.concat(drive.seen, "; ") .. "." end
  local free = 0
  for slot = 1, 16 do
    if turtle.getItemCount(slot) == 0 then free = free + 1 end
  end
  if free == 0 then lines[#lines + 1] = "Its slots are all taken: what it digs may be lost." end
  return table.concat(lines, "\n")
end

--- Does the steps until one fails; how that is told, or nil.
local function carry_out(it, steps, arguments)
  local count = #arguments.steps
  for n, one in ipairs(steps) do
    local step = one.step
    progress(step.text .. one.round, n - 1, #steps)
    local ok, why = STEPS[step.name](it, step)
    if not ok and step.may_fail then
      local failed = it.passed[step.text] or { count = 0 }
      failed.count, failed.why = failed.count + 1, why
      it.passed[step.text] = failed
    elseif not ok then
      local number = one.number
      local before = number == 1 and "nothing before it" or count_text(number - 1, "step") .. " before it done"
      return format("Step %d of %d, `%s`%s, failed: %s (%s).", number, count, step.text, one.round, tostring(why),
        before)
    end
  end
  return nil
end

local function drive(arguments)
  if not turtle then return nil, NO_TURTLE end
  local steps, count = {}, #arguments.steps
  -- Before the first is done: a slip in the last costs nothing.
  for n, text in ipairs(arguments.steps) do
    local before = #steps
    local ok, why = read(text, steps)
    if not ok then return nil, format("Nothing was done: step %d, `%s`: %s.", n, text, why) end
    for i = before + 1, #steps do steps[i].number = n end
  end
  local it = new_drive(arguments.dig)
  local failure = carry_out(it, steps, arguments)
  local first = failure or "Did " .. (count == 1 and "the step" or "all " .. count .. " steps") .. "."
  if arguments.home then
    local ok, why = it:go_home()
    first = first .. (ok and " It is back where it began." or " It could not come back: " .. tostring(why) .. ".")
    if not ok and not failure then failure = why end
  end
  local text = told(it, first)
  if failure then return nil, text end
  return text
end

local function status()
  if not turtle then return nil, NO_TURTLE end
  local lines = { fuel_text() .. "; " .. place_text(found()) .. "." }
  local blocks = {}
  for _, side in ipairs { "front", "up", "down" } do
    local where = ({ front = "in front", up = "above", down = "below" })[side]
    blocks[#blocks + 1] = where .. ": " .. short(inspected(side) or "nothing")
  end
  lines[#lines + 1] = table.concat(blocks, "; ") .. "."
  if turtle.getEquippedLeft then
    local left, right = turtle.getEquippedLeft(), turtle.getEquippedRight()
    lines[#lines + 1] = "On its left: " .. short(left and left.name or "nothing") .. "; on its right: "
      .. short(right and right.name or "nothing") .. "."
  end
  local slots, free = {}, 0
  for slot = 1, 16 do
    local item = turtle.getItemDetail(slot)
    if item then
      slots[#slots + 1] = format("%d: %d %s", slot, item.count, short(item.name))
    else
      free = free + 1
    end
  end
  lines[#lines + 1] = format("Slots, %d selected, %d free: %s.", turtle.getSelectedSlot(), free,
    #slots > 0 and table.concat(slots, "; ") or "nothing")
  return table.concat(lines, "\n")
end

return { drive = drive, status = status }
