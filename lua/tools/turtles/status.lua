-- Tells how a turtle is: fuel, place, the blocks around, what it carries. It changes nothing.

local blocks = require("parts.blocks")
local place = require("parts.place")
local told = require("parts.told")

local format = string.format
local short = blocks.short

--- `turtle-status`.
local function status()
  if not turtle then return nil, told.NO_TURTLE end
  local lines = { told.fuel() .. "; " .. place.text(place.found()) .. "." }
  local around = {}
  for _, side in ipairs { "front", "up", "down" } do
    local where = ({ front = "in front", up = "above", down = "below" })[side]
    around[#around + 1] = where .. ": " .. short(blocks.inspected(side) or "nothing")
  end
  lines[#lines + 1] = table.concat(around, "; ") .. "."
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

return { status = status }
