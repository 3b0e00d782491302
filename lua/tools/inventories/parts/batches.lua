-- Calls that run side by side, so that those that take a tick take it together.

local unpack = table.unpack or unpack

-- How many at once: the game's queue of events holds 256, of which others need some.
local AT_ONCE = 100

--- Calls all functions of a list.
return function(functions)
  for from = 1, #functions, AT_ONCE do
    parallel.waitForAll(unpack(functions, from, math.min(from + AT_ONCE - 1, #functions)))
  end
end
