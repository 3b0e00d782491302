-- quarry: digs a pit, and brings what it finds into a chest behind the place where it starts.

-- Where the turtle is, in blocks right of its start, below it and ahead of it; and where it looks, by quarter turns.
local x, y, z, facing, brought = 0, 0, 0, 0, 0

local function turn(way)
  if (way - facing) % 4 == 3 then turtle.turnLeft() else for _ = 1, (way - facing) % 4 do turtle.turnRight() end end
  facing = way
end

-- One block on. Gravel falls after, and animals stand in the way, so it tries several times.
local function step(way, side)
  for _ = 1, 40 do
    if turtle[way]() then return end
    if not turtle["dig" .. side]() and not turtle["attack" .. side]() then sleep(0.2) end
  end
  error(string.format("It can't get on from %d right, %d down, %d ahead of its start, and waits there.", x, y, z), 0)
end

-- Up, across, down: its way home leads through what is dug already.
local function go(to_x, to_y, to_z)
  while y > to_y do step("up", "Up") y = y - 1 end
  while x ~= to_x do turn(x < to_x and 1 or 3) step("forward", "") x = x + (x < to_x and 1 or -1) end
  while z ~= to_z do turn(z < to_z and 0 or 2) step("forward", "") z = z + (z < to_z and 1 or -1) end
  while y < to_y do step("down", "Down") y = y + 1 end
end

local function unload()
  go(0, 0, 0) turn(2)
  for slot = 1, 16 do
    turtle.select(slot)
    brought = brought + turtle.getItemCount()
    if turtle.getItemCount() > 0 and not turtle.drop() then error("The chest behind its start is full.", 0) end
  end
  turn(0)
end

local function call(arguments)
  if not turtle then return nil, "Only turtles dig; this computer isn't one." end
  local length, layer = arguments.length, arguments.width * arguments.length
  local total = layer * arguments.depth
  -- Enough for the way home, back again, and home once more.
  local reserve = 3 * (arguments.width + length + arguments.depth)
  for done = 0, total - 1 do
    local is_low = turtle.getFuelLevel() ~= "unlimited" and turtle.getFuelLevel() < reserve
    if is_low or turtle.getItemCount(16) > 0 then unload() end
    if is_low then return nil, string.format("%d of %d blocks are done, then it came home for fuel.", done, total) end
    -- To and fro, and each layer back again from where the one above ended.
    local down, place = math.floor(done / layer), done % layer
    if down % 2 == 1 then place = layer - 1 - place end
    local right, ahead = math.floor(place / length), place % length
    go(right, down, right % 2 == 1 and length - 1 - ahead or ahead)
    if (done + 1) % length == 0 then progress("layer " .. down + 1, done + 1, total) end
  end
  unload()
  return string.format("Dug %d blocks; %d items are in the chest behind the turtle.", total, brought)
end

return { call = call }
