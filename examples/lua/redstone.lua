-- The redstone signal on every side, 0 to 15; then a pulse of half a second on one side, if it is named here.
local PULSE = nil -- such as "back"

for _, side in ipairs(redstone.getSides()) do
  print(("%-6s  in %2d  out %2d"):format(side, redstone.getAnalogInput(side), redstone.getAnalogOutput(side)))
end
if PULSE then
  redstone.setOutput(PULSE, true)
  sleep(0.5)
  redstone.setOutput(PULSE, false)
end
