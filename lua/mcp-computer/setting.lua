--- The computer's settings, as far as they are the agent's: they outlive a reboot only in their file.

local find, pcall, type = string.find, pcall, type
local fs, settings = fs, settings

local disk = require("mcp-computer.disk")

local setting = {}

--- The setting that holds the bridge's URL.
setting.URL = "mcp_computer.url"

-- What the names of ours begin with, and where the game keeps settings.
local OURS, FILE = "^mcp_computer%.", "/.settings"
-- The file is written whole. With less free space than it takes now, and this many bytes more, the player's settings
-- could be lost.
local ROOM = 4096

local function save()
  local size = fs.exists(FILE) and fs.getSize(FILE) or 0
  local free = fs.getFreeSpace("/")
  if type(free) == "number" and free < size + ROOM then return false end
  return settings.save(FILE) ~= false
end

--- @tparam string name
-- @return Its value, or nil.
function setting.get(name)
  if type(settings) ~= "table" then return nil end
  local ok, value = pcall(settings.get, name)
  if ok then return value end
end

local function assign(name, value)
  if value == nil then settings.unset(name) else settings.set(name, value) end
end

--- Sets a setting for good, or leaves it as it was.
-- @tparam string name
-- @param value Nil: it is taken away.
-- @treturn boolean Whether it is kept.
function setting.keep(name, value)
  if type(settings) ~= "table" then return false end
  local before = setting.get(name)
  local ok, saved = pcall(function()
    assign(name, value)
    return save()
  end)
  if ok and saved then return true end
  pcall(assign, name, before)
  return false
end

--- Takes away all settings of the agent's, and their file if there is nothing else in it.
function setting.forget()
  if type(settings) ~= "table" then return end
  local names, is_any = settings.getNames(), false
  for i = 1, #names do
    if find(names[i], OURS) then
      settings.unset(names[i])
      is_any = true
    end
  end
  if not is_any or not fs.exists(FILE) then return end
  settings.save(FILE)
  if find(disk.read(FILE) or "", "^%s*{%s*}%s*$") then fs.delete(FILE) end
end

return setting
