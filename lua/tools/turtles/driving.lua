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

local HEADINGS = { [0] = "north", "east", "south", "west" }
-- What a block on changes, by heading.
local AHEAD = { [0] = { 0, -1 }, { 1, 0 }, { 0, 1 }, { -1, 0 } }
local ENDS = { front = "", up = "Up", down = "Down" }

local NO_TURTLE = "Only turtles can do that; this computer isn't one. list-computers tells which are."

local format = string.format

--- Quarter turns to the right, of what lies x to the east and z to the south.
local function rotate(x, z, turns)
  for _ = 1, turns % 4 do x, z = -z, x end
  return x, z
end

local function short(name) return (name:gsub("^minecraft:", "")) end

local function count_text(count, singular) return count .. " " .. singular .. (count == 1 and "" or "s") end

---------------------------------------------------------------- where the turtle is

--- What the call before has kept, if the turtle has not moved since: each move costs fuel.
local function kept()
  local file = fs.open(FILE, "rb")
  if not file then return nil end
  local text = file.readAll() or ""
  file.close()
  local x, y, z, heading, fuel, by_gps = text:match("^(%-?%d+) (%-?%d+) (%-?%d+) (%d) (%S+) (%a+)")
  if not x or fuel ~= tostring(turtle.getFuelLevel()) then return nil end
  return { x = tonumber(x), y = tonumber(y), z = tonumber(z), heading = tonumber(heading), by_gps = by_gps == "gps" }
end

local function keep(place)
  if not place or not place.heading then
    if fs.exists(FILE) then pcall(fs.delete, FILE) end
    return
  end
  local file = fs.open(FILE, "wb")
  -- Where the disk is full it is not kept.
  if not file then return end
  pcall(file.write, format("%d %d %d %d %s %s", place.x, place.y, place.z, place.heading,
    tostring(turtle.getFuelLevel()), place.by_gps and "gps" or "own"))
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

--- What is known of where the turtle is, with a heading or without one.
local function found()
  local place = kept()
  if place and place.by_gps then return place end
  local x, y, z = located()
  if x then return { x = x, y = y, z = z, by_gps = true, heading = nil } end
  return place
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
  local base = found() or { x = 0, y = 0, z = 0, heading = 0, by_gps = false }
  return setmetatable({
    base = base, dig = dig,
    x = 0, y = 0, z = 0, heading = 0,
    way = {}, dug = {}, seen = {},
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
  local ahead = AHEAD[self.heading]
  self.x = self.x + ahead[1] * (move.along or 0)
  self.z = self.z + ahead[2] * (move.along or 0)
  self.y = self.y + (move.rise or 0)
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

--- Back on the way that it came, which is free, and turned as it was.
function Drive:go_home()
  for n = #self.way, 1, -1 do
    local to = self.way[n - 1] or { 0, 0, 0 }
    local x, y, z = to[1] - self.x, to[2] - self.y, to[3] - self.z
    local ok, why = true, nil
    if y ~= 0 then
      ok, why = self:move(y > 0 and "up" or "down", true)
    elseif x ~= 0 or z ~= 0 then
      local ahead = AHEAD[self.heading]
      if ahead[1] == -x and ahead[2] == -z then
        ok, why = self:move("back", true)
      else
        for heading = 0, 3 do
          if AHEAD[heading][1] == x and AHEAD[heading][2] == z then ok, why = self:turn(heading) end
        end
        if ok then ok, why = self:move("forward", true) end
      end
    end
    if not ok then return false, why end
    self.way[n] = nil
  end
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
  local whole = wanted:find(":", 1, true) and wanted or "minecraft:" .. wanted
  for slot = 1, 16 do
    local item = turtle.getItemDetail(slot)
    if item and (item.name == whole or item.name == wanted or item.name:match(":(.*)$") == wanted) then return slot end
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

local STEPS = {}

for _, name in ipairs { "forward", "back", "up", "down" } do
  STEPS[name] = function(drive, step) return times(step, function() return drive:move(name) end) end
end

function STEPS.left(drive, step) return times(step, function() return drive:turn(drive.heading - 1) end) end

function STEPS.right(drive, step) return times(step, function() return drive:turn(drive.heading + 1) end) end

function STEPS.dig(drive, step) return drive:dig_out(step.side) end

function STEPS.attack(_, step) return times(step, turtle["attack" .. ENDS[step.side]]) end

function STEPS.inspect(drive, step)
  drive.seen[#drive.seen + 1] = (step.side == "front" and "in front" or step.side) .. ": "
    .. short(inspected(step.side) or "nothing")
  return true
end

function STEPS.place(_, step)
  step.word, step.number = step.word or step.number, nil
  local ok, why = select_for(step)
  if not ok then return false, why end
  return turtle["place" .. ENDS[step.side]]()
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
  return turtle.craft(step.number)
end

function STEPS.equip(_, step)
  local equip = step.word == "right" and turtle.equipRight or turtle.equipLeft
  return equip()
end

function STEPS.face(drive, step)
  local ok, why = drive:need_heading()
  if not ok then return false, why end
  for heading, name in pairs(HEADINGS) do
    if name == step.word then return drive:turn(heading - drive.base.heading) end
  end
  return false, "say which way: face north, east, south or west"
end

STEPS["goto"] = function(drive, step)
  local x, y, z = step.numbers[1], step.numbers[2], step.numbers[3]
  if not z then return false, "say where: goto X Y Z" end
  local ok, why = drive:need_heading()
  if not ok then return false, why end
  local base = drive.base
  local own_x, own_z = rotate(x - base.x, z - base.z, 4 - base.heading)
  return drive:go_to(own_x, y - base.y, own_z)
end

function STEPS.home(drive) return drive:go_home() end

local OTHER_NAMES = { turnleft = "left", turnright = "right" }

--- Reads a step: `digUp`, `place 2 up`, `drop coal 5`.
local function parse(text)
  local step = { side = "front", numbers = {} }
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
    end
  end
  if not STEPS[step.name] then
    return nil, "there is no such step; there are attack, back, craft, dig, down, drop, equip, face, forward, goto, "
      .. "home, inspect, left, place, refuel, right, select, suck, up"
  end
  for _, number in ipairs(step.numbers) do
    if number % 1 ~= 0 or (step.name ~= "goto" and (number < 0 or number > 10000)) then
      return nil, "numbers are whole, and at most 10000"
    end
  end
  return step
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

--- How the turtle is after the steps, in lines.
local function told(drive, first)
  drive:learn()
  local place = drive:place()
  keep(place)
  local lines = { first, "Now " .. place_text(place) .. "; " .. fuel_text() .. "." }
  if next(drive.dug) then lines[#lines + 1] = "Dug: " .. dug_text(drive.dug) .. "." end
  if #drive.seen > 0 then lines[#lines + 1] = "Seen: " .. table.concat(drive.seen, "; ") .. "." end
  local free = 0
  for slot = 1, 16 do
    if turtle.getItemCount(slot) == 0 then free = free + 1 end
  end
  if free == 0 then lines[#lines + 1] = "Its slots are all taken: what it digs may be lost." end
  return table.concat(lines, "\n")
end

local function drive(arguments)
  if not turtle then return nil, NO_TURTLE end
  local steps = {}
  -- Before the first is done: a slip in the last costs nothing.
  for n, text in ipairs(arguments.steps) do
    local step, why = parse(text)
    if not step then return nil, format("Nothing was done: step %d, `%s`: %s.", n, text, why) end
    steps[n] = step
  end
  local it = new_drive(arguments.dig)
  local failure
  for n, step in ipairs(steps) do
    progress(arguments.steps[n], n - 1, #steps)
    local ok, why = STEPS[step.name](it, step)
    if not ok then
      local before = n == 1 and "nothing before it" or count_text(n - 1, "step") .. " before it done"
      failure = format("Step %d of %d, `%s`, failed: %s (%s).", n, #steps, arguments.steps[n], tostring(why), before)
      break
    end
  end
  local first = failure or "Did " .. (#steps == 1 and "the step" or "all " .. #steps .. " steps") .. "."
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
