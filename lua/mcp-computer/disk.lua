--- Writes a program's file, with little room on the disk too, so that there is one afterwards in any case.

local fs = fs
local match = string.match
local pcall, tostring, type = pcall, tostring, type

local disk = {}

-- What the game counts for a file at least, in bytes, and some more for what it keeps beside.
local SPARE_BYTES = 1024

local function size_of(path)
  return fs.exists(path) and fs.getSize(path) or 0
end

-- Bytes that may be written where a path lies; CraftOS-PC and old games may say no number.
local function free_at(path)
  local free = fs.getFreeSpace(path)
  return type(free) == "number" and free or 1 / 0
end

--- Says whether there is room for a file in its present one's place.
-- @tparam string path
-- @tparam number size Bytes.
-- @treturn boolean
-- @treturn string What to tell the player, if there is none.
function disk.has_room(path, size)
  local room = free_at(path) + size_of(path) - SPARE_BYTES
  return room >= size, ("the disk has no room for its %d bytes: %d more must be free"):format(size, size - room)
end

-- What the game says of a failure, without the place in this file.
local function words_of(problem)
  problem = tostring(problem)
  return match(problem, "^[^:]*:%d+: (.*)$") or problem
end

-- Writes a whole file. Returns whether that went well, or nil and why not.
local function write(path, content)
  local opened, file, problem = pcall(fs.open, path, "wb")
  if not opened then return nil, words_of(file) end
  if not file then return nil, words_of(problem) end
  local ok, reason = pcall(function()
    file.write(content)
    file.close()
  end)
  if not ok then
    pcall(file.close)
    return nil, words_of(reason)
  end
  if size_of(path) ~= #content then return nil, "Out of space" end
  return true
end

--- Reads a file.
-- @tparam string path
-- @tparam[opt] number count Bytes from its beginning; all by default.
-- @treturn string|nil Nil if there is none.
function disk.read(path, count)
  local file = fs.open(path, "rb")
  if not file then return nil end
  local content = count and file.read(count) or not count and file.readAll() or ""
  file.close()
  return content
end

-- Writes the file beside the present one, then puts it in its place: at any moment one of them is whole.
local function replace_beside(path, content)
  local new = path .. ".new"
  local ok, problem = write(new, content)
  if ok then ok, problem = pcall(fs.delete, path) end
  if ok then ok, problem = pcall(fs.move, new, path) end
  if not ok then pcall(fs.delete, new) end
  return ok or nil, tostring(problem)
end

--- Writes a file, or leaves what was there.
--
-- Where there is room for both, it is written beside the present one first. Else it takes its place at once, and what
-- was there, kept in memory meanwhile, is written back if that fails: all within one moment in which nothing else runs.
-- @tparam string path
-- @tparam string content
-- @treturn boolean|nil Whether it was written.
-- @treturn string Why not.
function disk.replace(path, content)
  pcall(fs.delete, path .. ".new") -- what an earlier attempt may have left
  if free_at(path) - SPARE_BYTES >= #content and replace_beside(path, content) then return true end
  local old = disk.read(path)
  local ok, problem = write(path, content)
  if ok then return true end
  if not old then
    pcall(fs.delete, path)
  elseif not write(path, old) then
    problem = problem .. ", and what was there before is lost"
  end
  return nil, ("%s can't be written: %s"):format(path, problem)
end

return disk
