-- The steps that a turtle does, each by its name: a function of the drive and the step as it was read, which returns
-- whether it was done, or why not.

local blocks = require("parts.blocks")
local lay_out = require("parts.recipes")
local place = require("parts.place")

local format = string.format
local ENDS, short = blocks.ENDS, blocks.short

local steps = {}

-- The age at which a plant is ripe; of others that have an age, 7.
local RIPE = { beetroots = 3, nether_wart = 3, sweet_berry_bush = 3, cocoa = 2 }

--- The slot of an item: of that number, or the first with an item of that name.
local function slot_of(wanted)
  local number = tonumber(wanted)
  if number then
    if number < 1 or number > 16 or number % 1 ~= 0 then return nil, "slots are from 1 to 16" end
    return number
  end
  for slot = 1, 16 do
    local item = turtle.getItemDetail(slot)
    if item and blocks.is_called(item.name, wanted) then return slot end
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

for _, name in ipairs { "forward", "back", "up", "down" } do
  steps[name] = function(drive, step) return times(step, function() return drive:move(name) end) end
end

function steps.left(drive, step) return times(step, function() return drive:turn(drive.heading - 1) end) end

function steps.right(drive, step) return times(step, function() return drive:turn(drive.heading + 1) end) end

--- Whether a block is all that words say of it: a name, or ripe.
local function is_as_said(block, words)
  for _, word in ipairs(words) do
    if word == "ripe" then
      local age = block.state and tonumber(block.state.age) or block.metadata
      if not age or age < (RIPE[block.name:match(":(.*)$")] or 7) then return false end
    elseif not blocks.is_called(block.name, word) then
      return false
    end
  end
  return true
end

function steps.dig(drive, step)
  if #step.words > 0 then
    local is_there, block = turtle["inspect" .. ENDS[step.side]]()
    if not is_there or not is_as_said(block, step.words) then return true end
  end
  return drive:dig_out(step.side)
end

function steps.attack(_, step) return times(step, turtle["attack" .. ENDS[step.side]]) end

function steps.inspect(drive, step)
  local is_there, block = turtle["inspect" .. ENDS[step.side]]()
  local what = is_there and short(block.name) or "nothing"
  if is_there and block.state and block.state.age then what = format("%s (age %s)", what, tostring(block.state.age)) end
  drive.seen[#drive.seen + 1] = (step.side == "front" and "in front" or step.side) .. ": " .. what
  return true
end

function steps.place(drive, step)
  step.word, step.number = step.word or step.number, nil
  local ok, why = select_for(step)
  if not ok then return false, why end
  ok, why = turtle["place" .. ENDS[step.side]]()
  if ok then drive.filled[drive:key_beside(step.side)] = true end
  return ok, why
end

function steps.select(_, step)
  step.word = step.word or step.number
  if not step.word then return false, "say what: select 3, or select coal" end
  return select_for(step)
end

for _, name in ipairs { "drop", "suck" } do
  steps[name] = function(_, step)
    local ok, why
    if name == "drop" then
      ok, why = select_for(step)
      if not ok then return false, why end
    end
    return turtle[name .. ENDS[step.side]](step.number and math.min(step.number, 64))
  end
end

function steps.refuel(_, step)
  local ok, why = select_for(step)
  if not ok then return false, why end
  return refuel(step.number)
end

function steps.craft(_, step)
  if not turtle.craft then return false, "it has no crafting table on a side: select one, then equip left" end
  if #step.words > 0 then
    local ok, why = lay_out(step.words)
    if not ok then return false, why end
  end
  return turtle.craft(step.number)
end

function steps.equip(drive, step)
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

function steps.face(drive, step)
  local ok, why = drive:need_heading()
  if not ok then return false, why end
  return drive:turn(place.heading_of(step.word) - drive.base.heading)
end

steps["goto"] = function(drive, step)
  local x, y, z = step.numbers[1], step.numbers[2], step.numbers[3]
  local ok, why = drive:need_heading()
  if not ok then return false, why end
  local base = drive.base
  local own_x, own_z = place.rotate(x - base.x, z - base.z, 4 - base.heading)
  local own_y = y - base.y
  local fuel = turtle.getFuelLevel()
  local needed = math.abs(own_x - drive.x) + math.abs(own_y - drive.y) + math.abs(own_z - drive.z)
  if type(fuel) == "number" and fuel < needed then
    return false, format("it needs at least %d fuel to get there, and has %d: it has not gone; refuel it, or send it "
      .. "part of the way", needed, fuel)
  end
  return drive:go_to(own_x, own_y, own_z)
end

function steps.home(drive) return drive:go_home() end

return steps
