--- The key by which a bridge knows this computer again: drawn once, and kept in the computer's settings.

local identity = require("mcp-computer.identity")
local setting = require("mcp-computer.setting")

local type = type

local key = {}

-- The setting that holds it.
local NAME = "mcp_computer.key"

--- The key. A computer that can't keep one has none: another at each start would make it somebody else each time.
-- @treturn string|nil
function key.load()
  local kept = setting.get(NAME)
  if type(kept) == "string" and kept ~= "" then return kept end
  local drawn = identity.draw_key()
  return setting.keep(NAME, drawn) and drawn or nil
end

return key
