-- Copies, moves and deletes files of a computer. What is deleted lies in the trash for a while.

local errors = require("shared.errors")
local files = require("shared.files")
local paths = require("shared.paths")
local disk = require("parts.disk")

local find, format = string.find, string.format

-- The trash: a folder for each deletion, named by its number, with what was deleted and where that was.
local TRASH, ITEM, ORIGIN = "/.trash", "item", "origin"
-- How many deletions it holds, and bytes of them all: a quarter of a computer's disk.
local KEPT, SPACE = 50, 250000
-- What a file takes of a disk at least.
local LEAST = 500

-- Does what may throw; or nil, and why it was not done.
local function try(what, f, ...)
  local ok, thrown = pcall(f, ...)
  if ok then return true end
  return nil, format("%s: %s. Nothing else was done.", what, errors.reason(thrown))
end

local function size_of(path)
  if not fs.isDir(path) then return math.max(fs.getSize(path), LEAST) end
  local size = LEAST
  for _, name in ipairs(fs.list(path)) do size = size + size_of(fs.combine(path, name)) end
  return size
end

---------------------------------------------------------------- the trash

-- The numbers of what is in it, the oldest first.
local function deletions()
  local numbers = {}
  if not fs.isDir(TRASH) then return numbers end
  for _, name in ipairs(fs.list(TRASH)) do
    local number = tonumber(name)
    if number and fs.exists(fs.combine(TRASH, name, ITEM)) then numbers[#numbers + 1] = number end
  end
  table.sort(numbers)
  return numbers
end

local function place_of(number, name)
  return format("%s/%.0f%s", TRASH, number, name and "/" .. name or "")
end

local function origin_of(number)
  return files.read(place_of(number, ORIGIN)) or ""
end

-- Lets the oldest go until there is room for so many bytes more.
local function make_room(size)
  local numbers = deletions()
  local sizes, total = {}, size
  for i, number in ipairs(numbers) do
    sizes[i] = size_of(place_of(number))
    total = total + sizes[i]
  end
  local gone = 0
  for i, number in ipairs(numbers) do
    if total <= SPACE and #numbers - gone < KEPT then break end
    fs.delete(place_of(number))
    total, gone = total - sizes[i], gone + 1
  end
  return gone
end

local function delete(path, for_good)
  if path == "/" then return nil, "The whole disk is not deleted: name what is on it." end
  if not fs.exists(path) then return nil, disk.no_such(path) end
  local size = size_of(path)
  if for_good or path == TRASH or find(path, TRASH .. "/", 1, true) == 1 then
    local done, problem = try("It was not deleted", fs.delete, path)
    if not done then return nil, problem end
    return format("%s is deleted for good.", path)
  end
  if size > SPACE then
    return nil, format("%s has %.0f bytes, and the trash holds %d: forGood deletes it without keeping it.", path, size,
      SPACE)
  end
  if fs.isReadOnly(path) then return nil, format("%s can't be deleted: it is read-only.", path) end
  local gone = make_room(size + LEAST)
  local numbers = deletions()
  local number = (numbers[#numbers] or 0) + 1
  local done, problem = try("It was not deleted", function()
    fs.makeDir(place_of(number))
    local written, why = files.write(place_of(number, ORIGIN), "wb", path)
    if not written then error(why, 0) end
    fs.move(path, place_of(number, ITEM))
  end)
  if not done then
    pcall(fs.delete, place_of(number))
    return nil, problem .. " forGood deletes it without keeping it."
  end
  return format("%s is deleted. Undo brings it back, until the trash needs its room%s.", path,
    gone > 0 and format(" (%d older are gone now)", gone) or "")
end

-- Why nothing can be put at a path; nil if it is free.
local function taken(to)
  if fs.isDir(to) then
    return format("There is a folder %s already, and nothing was done: name another path by `to`.", to)
  elseif fs.exists(to) then
    return format("%s is there already, and nothing was done: name another path by `to`, or delete that file first.",
      to)
  end
  local above = paths.file_above(to)
  return above and format("Nothing can be at %s, since %s is a file, and nothing was done: name another path by `to`.",
    to, above)
end

-- Copies or moves, `verb`, to a path.
local function transfer(f, verb, from, to)
  if not fs.exists(from) then return nil, disk.no_such(from) end
  if from ~= to and fs.isDir(to) then to = paths.absolute(fs.combine(to, fs.getName(from))) end
  if from == to then return nil, format("%s is there already: it was to be %s to where it is.", from, verb) end
  local problem = taken(to)
  if problem then return nil, problem end
  if find(to, from .. "/", 1, true) == 1 then
    return nil, format("%s can't be %s into itself, to %s: name another path by `to`.", from, verb, to)
  end
  local done
  done, problem = try("It was not " .. verb, f, from, to)
  if not done then return nil, problem end
  return format("%s is %s to %s.", from, verb, to)
end

local function undo(path, to)
  local numbers = deletions()
  local number
  for i = #numbers, 1, -1 do
    if not path or origin_of(numbers[i]) == path then
      number = numbers[i]
      break
    end
  end
  if not number then
    local origins = {}
    for i = #numbers, math.max(#numbers - 9, 1), -1 do origins[#origins + 1] = origin_of(numbers[i]) end
    return nil, format("There is no %s in the trash%s.", path or "file",
      #origins > 0 and ", the last in it are " .. table.concat(origins, ", ") or ", nor anything else")
  end
  local target = to or origin_of(number)
  if fs.exists(target) then
    return nil, format("%s is there again, and stays: say where to put what was deleted, by `to`.", target)
  end
  local above = paths.file_above(target)
  if above then
    return nil, format("%s can't be brought back, since %s is a file now: say where to put it, by `to`.", target, above)
  end
  local done, problem = try("It was not brought back", fs.move, place_of(number, ITEM), target)
  if not done then return nil, problem end
  fs.delete(place_of(number))
  return format("%s is back; %d more in the trash.", target, #numbers - 1)
end

--- `manage-files`.
local function manage(arguments)
  local action = arguments.action
  local problem = paths.misread(arguments.path or "") or paths.misread(arguments.to or "")
  if problem then return nil, problem end
  local path, to = arguments.path and paths.absolute(arguments.path), arguments.to and paths.absolute(arguments.to)
  if action == "undo" then return undo(path, to) end
  if not path then return nil, format("For %s a path is needed.", action) end
  if action == "delete" then return delete(path, arguments.forGood) end
  if action == "make-folder" then
    if fs.isDir(path) then return path .. " is there already." end
    local in_the_way = fs.exists(path) and path or paths.file_above(path)
    if in_the_way then
      return nil, format("%s was not made: %s is a file. Choose another path, or move that file first.", path,
        in_the_way)
    end
    local done
    done, problem = try("It was not made", fs.makeDir, path)
    if not done then return nil, problem end
    return path .. " is made."
  end
  if not to then return nil, format("For %s it has to be said where to, by `to`.", action) end
  if action == "copy" then return transfer(fs.copy, "copied", path, to) end
  return transfer(fs.move, "moved", path, to)
end

return { manage = errors.kept_short(manage) }
