-- fuel: runs on the computer, with everything that a program there can use.

local function call(arguments)
  if not turtle then return nil, "Only turtles burn fuel; this computer isn't one." end
  local level = turtle.getFuelLevel()
  if level == "unlimited" then return "This turtle needs no fuel." end
  local blocks = math.max(0, level - (arguments.reserve or 0))
  return { level = level, limit = turtle.getFuelLimit(), blocks = blocks }
end

return { call = call }
