-- plan-building: a prompt that works out what a house takes before a model begins to plan it.

-- How many blocks the walls take, and the floor, which is as large as the roof.
local function blocks(width, length, height)
  local walls = (2 * (width + length) - 4) * height
  return walls, width * length
end

local function size(text, name)
  local number = tonumber(text)
  if not number or number ~= math.floor(number) or number < 3 or number > 64 then
    error(name .. " must be a whole number from 3 to 64, not " .. text, 0)
  end
  return number
end

local function plan(arguments)
  local width = size(arguments.width or "7", "width")
  local length = size(arguments.length or "9", "length")
  local height = size(arguments.height or "4", "height")
  local walls, floor = blocks(width, length, height)
  local all = walls + 2 * floor
  return string.format([[
Plan how a turtle builds %s, %d wide, %d long, %d high, of %s.

Worked out: %d blocks for the walls, %d for the floor, %d for the roof: %d in all, which is %d stacks. A turtle carries
16 stacks, and burns 1 fuel for each block that it moves.

Say in this order: where the turtle stands and looks at the start; what goes into which slot; the order in which it lays
the blocks, so that it never walls itself in; how often it comes back for more; how much fuel it needs. Ask me what you
can't know. Wait until I say yes, then build it with exec-lua in steps that can be looked at.]],
    arguments.what, width, length, height, arguments.material or "stone bricks", walls, floor, floor, all,
    math.ceil(all / 64))
end

return { plan = plan }
