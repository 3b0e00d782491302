--- The game's ways of turning the computer off, while a job runs: its answer leaves before.
--
-- Code of the job has an `os` of its own, but the programs that it calls, such as `reboot`, have the game's. So there
-- they are swapped for the time of each resume, as the ways of printing are, and are the game's while the player's own
-- code runs.

local next, rawequal, rawget, rawset = next, rawequal, rawget, rawset
local library = os

local halting = {}

-- What is told of it, for the job that runs now.
local present = nil
-- What stood there before the job was resumed, by name.
local outer = {}

local SWAPPED = {}
for _, name in next, { "reboot", "shutdown" } do
  outer[name] = rawget(library, name)
  SWAPPED[name] = function(...)
    if present then present("os." .. name) end
    return outer[name](...)
  end
end

--- A job is about to be resumed.
-- @tparam function on_halt Called with the function's name before the computer reboots or shuts down.
function halting.enter(on_halt)
  present = on_halt
  for name, swapped in next, SWAPPED do
    outer[name] = rawget(library, name)
    rawset(library, name, swapped)
  end
end

--- The job has yielded, or ended. What it has put there itself stays.
function halting.leave()
  present = nil
  for name, swapped in next, SWAPPED do
    if rawequal(rawget(library, name), swapped) then rawset(library, name, outer[name]) end
  end
end

return halting
