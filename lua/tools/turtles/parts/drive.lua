-- One call's way: where the turtle has gone, how it goes on, and how it comes back.
--
-- Two frames are kept apart. In the call's own the turtle began at 0 0 0 and looked north; that is always known. Where
-- that frame lies in the world (`base`) is known from GPS, or from what the call before has kept. Without either, where
-- the turtle first was is 0 0 0 and it looked north: what is told then says so.

local blocks = require("parts.blocks")
local place = require("parts.place")

local format = string.format
local ENDS, short = blocks.ENDS, blocks.short

-- How often one block is dug for: gravel falls after.
local DIGS = 64
-- How often a block on is tried where something may walk away.
local TRIES = 5
-- The longest way that is kept, to be gone back on, in blocks.
local WAY = 10000

-- What a block on changes, by heading.
local AHEAD = { [0] = { 0, -1 }, { 1, 0 }, { 0, 1 }, { -1, 0 } }

--- A place as a table's key.
local function key_of(x, y, z) return x .. " " .. y .. " " .. z end

local Drive = {}
Drive.__index = Drive

--- A drive that has not begun yet.
-- @tparam boolean dig Whether it digs what is in the way.
function Drive.new(dig)
  local base, is_lost = place.found()
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
  local x, z = place.rotate(self.x, self.z, base.heading)
  return {
    x = base.x + x, y = base.y + self.y, z = base.z + z, heading = (base.heading + self.heading) % 4,
    by_gps = base.by_gps,
  }
end

--- Keeps that the turtle is about to go to a place of the call's own frame.
function Drive:keep_on_way(x, y, z)
  local base = self.base
  if not base.heading then return place.keep(nil) end
  local to_x, to_z = place.rotate(x, z, base.heading)
  place.keep(self:place(), format(" to %d %d %d", base.x + to_x, base.y + y, base.z + to_z))
end

--- Learns the heading from where the turtle has gone, by GPS. What is known of it may be wrong: another program may
-- have turned the turtle, which costs no fuel.
function Drive:learn()
  local base = self.base
  if not base.by_gps or (self.x == 0 and self.z == 0) then return end
  local x, _, z = place.located()
  if not x then return end
  for turns = 0, 3 do
    local gone_x, gone_z = place.rotate(self.x, self.z, turns)
    if base.x + gone_x == x and base.z + gone_z == z then base.heading = turns end
  end
end

function Drive:turn(heading)
  heading = heading % 4
  if heading == self.heading then return true end
  place.keep(self:place(), " turns")
  local ok, why = true, nil
  if (heading - self.heading) % 4 == 3 then
    ok, why = turtle.turnLeft()
    if ok then self.heading = heading end
  end
  while ok and self.heading ~= heading do
    ok, why = turtle.turnRight()
    if ok then self.heading = (self.heading + 1) % 4 end
  end
  place.keep(self:place())
  return ok, why
end

--- Digs what is there until nothing more falls after.
function Drive:dig_out(side)
  local any = false
  for _ = 1, DIGS do
    local name = blocks.inspected(side)
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
    local there = move.side and blocks.inspected(move.side)
    if there and why ~= "Out of fuel" then why = format("%s by %s", tostring(why), short(there)) end
    if why == "Out of fuel" then why = "Out of fuel: add the step refuel before it, with fuel in its slots" end
    return false, why
  end
  self.x, self.y, self.z = x, y, z
  self.filled[key_of(self.x, self.y, self.z)] = nil
  if not is_return and #self.way < WAY then self.way[#self.way + 1] = { self.x, self.y, self.z } end
  place.keep(self:place())
  return true
end

--- Goes so many blocks into the direction of a heading of the call's own frame.
function Drive:go(heading, count)
  if count == 0 then return true end
  local ok, why = self:turn(heading)
  for _ = 1, ok and count or 0 do
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
  for n, at_that in ipairs(way) do
    local key = key_of(at_that[1], at_that[2], at_that[3])
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

return Drive
