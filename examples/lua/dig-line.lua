-- A turtle digs a line of blocks straight ahead and comes back, if it has the fuel for both ways.
local LENGTH = 3

if not turtle then
  print("This computer is no turtle.")
  return
end
local fuel = turtle.getFuelLevel()
if fuel ~= "unlimited" and fuel < 2 * LENGTH then
  print(("It takes %d fuel, and there is %d. Give the turtle fuel, then: turtle.refuel()"):format(2 * LENGTH, fuel))
  return
end

local gone, problem = 0, nil
while gone < LENGTH and not problem do
  -- Gravel and sand fall down again after the first.
  while turtle.detect() and turtle.dig() do end
  local moved, reason = turtle.forward()
  if moved then gone = gone + 1 else problem = reason end
end

local back = 0
while back < gone and turtle.back() do back = back + 1 end

print(("Went %d of %d blocks ahead and came %d back."):format(gone, LENGTH, back))
if problem then print("Stopped there: " .. problem) end
