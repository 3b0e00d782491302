-- Signals on the sides of a computer, looked at only: so this may run where nothing is to be changed.

local all_signals = require("parts.signals")

--- `read-redstone`.
local function read()
  return all_signals(redstone.getSides())
end

return { read = read }
