--- Which game this is, and which of its files holds the settings of the HTTP API.

local find, match = string.find, string.match
local tonumber, type = tonumber, type
local globals = _G

local game = {}

--- The families of configuration files.
game.CRAFTOS_PC, game.CFG, game.COMMON_TOML, game.SERVER_TOML = "craftos-pc", "cfg", "common-toml", "server-toml"

-- Since this version of Minecraft some loaders keep the world's settings in `config/` (NeoForge).
local FIRST_WITH_CONFIG_FOLDER = 21

-- `1.113.1` as 113; `2.1` counts as later than every `1.x`.
local function minor_of(version)
  local major, minor = match(version or "", "^(%d+)%.(%d+)")
  if not major then return nil end
  return (tonumber(major) - 1) * 1000 + tonumber(minor)
end

--- Reads `_HOST`.
-- @tparam[opt] string host The present game's by default.
-- @treturn table `family` (one of the above), `minecraft` and `mod`: the second number of the versions, or nil.
function game.read(host)
  host = host or globals._HOST
  if type(host) ~= "string" then host = "" end
  local mod = minor_of(match(host, "ComputerCraft ([%d.]+)"))
  local minecraft = minor_of(match(host, "Minecraft ([%d.]+)"))
  local family = game.SERVER_TOML
  if find(host, "CraftOS-PC", 1, true) then
    family = game.CRAFTOS_PC
  elseif minecraft and minecraft <= 12 then
    family = game.CFG
  elseif minecraft and (minecraft <= 14 or minecraft == 15 and mod and mod < 88) then
    family = game.COMMON_TOML
  end
  return { family = family, minecraft = minecraft, mod = mod }
end

--- Where the settings of the HTTP API are.
-- @tparam table this From @{game.read}.
-- @treturn string The file.
-- @treturn string|nil What else helps to find it.
function game.config_file(this)
  if this.family == game.CRAFTOS_PC then return "config/global.json", "(in CraftOS-PC's data folder)" end
  if this.family == game.CFG then return "config/ComputerCraft.cfg" end
  if this.family == game.COMMON_TOML then return "config/computercraft-common.toml" end
  local where = "(single player: <world> is under saves/)"
  if not this.minecraft or this.minecraft >= FIRST_WITH_CONFIG_FOLDER then
    where = where .. "\nor, if there is none, config/computercraft-server.toml"
  end
  return "<world>/serverconfig/computercraft-server.toml", where
end

return game
