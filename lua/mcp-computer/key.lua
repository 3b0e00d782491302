--- The key by which a bridge knows this computer again: drawn once, and kept in the computer's settings.

local identity = require("mcp-computer.identity")

local pcall, type = pcall, type
local fs, settings = fs, settings

local key = {}

-- The setting that holds it, and where the game keeps settings.
local SETTING, FILE = "mcp_computer.key", "/.settings"
-- The file is written whole. With less free space than it takes now, and this many bytes more, the player's settings
-- could be lost.
local ROOM = 4096

local function has_room()
  local size = fs.exists(FILE) and fs.getSize(FILE) or 0
  local free = fs.getFreeSpace("/")
  return type(free) ~= "number" or free >= size + ROOM
end

local function keep(drawn)
  if not has_room() then return false end
  settings.set(SETTING, drawn)
  return settings.save(FILE) ~= false
end

--- The key. A computer that can't keep one has none: another at each start would make it somebody else each time.
-- @treturn string|nil
function key.load()
  if type(settings) ~= "table" then return nil end
  local ok, kept = pcall(settings.get, SETTING)
  if ok and type(kept) == "string" and kept ~= "" then return kept end
  local drawn = identity.draw_key()
  local tried, saved = pcall(keep, drawn)
  if tried and saved then return drawn end
  pcall(settings.unset, SETTING)
  return nil
end

return key
