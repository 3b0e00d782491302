-- The parts of a file for which the disk has no room beside what it replaces. They are kept in the computer's memory
-- until the last has come, so that what is there stays until then.

local clock = os.clock

local held = {}

-- Seconds after which parts are let go that no sync goes on with.
local PATIENCE = 60

-- What one errand writes to its globals is gone with it: the next one finds this in the computer's own.
local NAME = "mcp_bridge_sync_parts"
local own = (getmetatable(_G) or {}).__index
local globals = type(own) == "table" and own or _G

local function present()
  local file = rawget(globals, NAME)
  return type(file) == "table" and file or nil
end

--- Lets go of all parts, or of those that nobody asks for any more.
function held.drop(only_old)
  local file = present()
  if file and only_old and clock() - file.clock < PATIENCE then return end
  rawset(globals, NAME, nil)
end

--- Keeps the first part of a file. Those of another one are let go.
function held.begin(path, part)
  rawset(globals, NAME, { path = path, parts = { part }, size = #part, clock = clock() })
end

--- Whether parts of a file are kept.
function held.has(path)
  local file = present()
  return file ~= nil and file.path == path
end

--- Keeps the next part of a file, which begins after so many bytes. False if others are to come before.
function held.add(path, at, part)
  local file = present()
  if not file or file.path ~= path or file.size ~= at then return false end
  file.parts[#file.parts + 1] = part
  file.size, file.clock = at + #part, clock()
  return true
end

--- All of it, which is let go.
function held.take()
  local file = present()
  held.drop()
  return table.concat(file.parts)
end

return held
