-- A computer's trash: what tools and syncs have deleted there, for a while.

local breathe = require("shared.breathe")
local errors = require("shared.errors")
local files = require("shared.files")

local find, format = string.find, string.format
local max = math.max

local trash = {}

--- Its folder. It has one for each deletion, named by its number, with what was deleted and where that was.
trash.FOLDER = "/.trash"
--- Bytes of all deletions that it holds: a quarter of a computer's disk.
trash.SPACE = 250000
--- What a file takes of a disk at least.
trash.LEAST = 500

--- How many deletions it holds.
trash.KEPT = 50

--- Where what was deleted by this number lies.
function trash.item(number)
  return format("%s/%.0f/item", trash.FOLDER, number)
end

local function folder_of(number)
  return format("%s/%.0f", trash.FOLDER, number)
end

local function origin_file(number)
  return format("%s/%.0f/origin", trash.FOLDER, number)
end

--- Where it was before.
function trash.origin(number)
  return files.read(origin_file(number)) or ""
end

--- The numbers of all deletions, the oldest first.
function trash.numbers()
  local numbers = {}
  if not fs.isDir(trash.FOLDER) then return numbers end
  for _, name in ipairs(fs.list(trash.FOLDER)) do
    local number = tonumber(name)
    if number and fs.exists(trash.item(number)) then numbers[#numbers + 1] = number end
    breathe()
  end
  table.sort(numbers)
  return numbers
end

--- What a file, or a folder with all that is in it, takes of a disk.
function trash.size_of(path)
  if not fs.isDir(path) then return max(fs.getSize(path), trash.LEAST) end
  local size = trash.LEAST
  for _, name in ipairs(fs.list(path)) do size = size + trash.size_of(fs.combine(path, name)) end
  return size
end

--- All deletions with their sizes, to be looked at once for many that follow.
-- @treturn table A list of `{number, size}`, the oldest first; `total`: bytes; `evicted`: the numbers of what has made
--   room since.
function trash.look()
  local now = { total = 0, last = 0, evicted = {} }
  for i, number in ipairs(trash.numbers()) do
    now[i] = { number = number, size = trash.size_of(folder_of(number)) }
    now.total, now.last = now.total + now[i].size, number
    breathe()
  end
  return now
end

--- Takes the deletion at this place of the list out of the trash.
-- @treturn number Its number.
function trash.drop(now, at)
  local dropped = table.remove(now, at)
  now.total = now.total - dropped.size
  pcall(fs.delete, folder_of(dropped.number))
  return dropped.number
end

--- Moves what has this path, and this size as @{trash.size_of} has it, to the trash. The oldest there may have to go.
-- @treturn number|nil Its number; nil if there is no room for it.
-- @treturn string|nil What the game said of that.
-- @throws Why else it is not moved.
function trash.put(now, path, size)
  size = size + trash.LEAST
  if size > trash.SPACE then return nil, "Out of space" end
  while now[1] and (now.total + size > trash.SPACE or #now >= trash.KEPT) do
    now.evicted[#now.evicted + 1] = trash.drop(now, 1)
  end
  -- No number is given again while the trash is looked at so.
  repeat now.last = now.last + 1 until not fs.exists(folder_of(now.last))
  local number = now.last
  local ok, thrown = pcall(function()
    fs.makeDir(folder_of(number))
    local written, problem = files.write(origin_file(number), "wb", path)
    if not written then error(problem, 0) end
    fs.move(path, trash.item(number))
  end)
  if ok then
    now[#now + 1] = { number = number, size = size }
    now.total = now.total + size
    return number
  end
  pcall(fs.delete, folder_of(number))
  local problem = errors.reason(thrown)
  if find(problem, "Out of space", 1, true) then return nil, problem end
  error(problem, 0)
end

--- Moves what was deleted by this number to a path, and lets go of the number.
-- @throws Why it is not moved.
function trash.take_back(number, path)
  local moved, thrown = pcall(fs.move, trash.item(number), path)
  if not moved then
    -- Old games copy what they move, and leave what had room of it.
    if find(tostring(thrown), "Out of space", 1, true) then pcall(fs.delete, path) end
    error(thrown, 0)
  end
  fs.delete(folder_of(number))
end

return trash
