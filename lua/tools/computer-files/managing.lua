-- Copies, moves and deletes files of a computer. What is deleted lies in the trash for a while.

local errors = require("shared.errors")
local misread = require("shared.misread")
local paths = require("shared.paths")
local trash = require("shared.trash")
local disk = require("parts.disk")

local find, format = string.find, string.format

-- Does what may throw; or nil, and why it was not done.
local function try(what, f, ...)
  local ok, thrown = pcall(f, ...)
  if ok then return true end
  return nil, format("%s: %s. Nothing else was done.", what, errors.reason(thrown))
end

local function delete(path, for_good)
  if path == "/" then return nil, "The whole disk is not deleted: name what is on it." end
  if not fs.exists(path) then return nil, disk.no_such(path) end
  if for_good or path == trash.FOLDER or find(path, trash.FOLDER .. "/", 1, true) == 1 then
    local done, problem = try("It was not deleted", fs.delete, path)
    if not done then return nil, problem end
    return format("%s is deleted for good.", path)
  end
  local size = trash.size_of(path)
  if size > trash.SPACE - trash.LEAST then
    return nil, format("%s has %.0f bytes, and the trash holds %d: forGood deletes it without keeping it.", path, size,
      trash.SPACE)
  end
  if fs.isReadOnly(path) then return nil, format("%s can't be deleted: it is read-only.", path) end
  local now = trash.look()
  local done, problem = try("It was not deleted", function()
    local number, why = trash.put(now, path, size)
    if not number then error(why, 0) end
  end)
  if not done then return nil, problem .. " forGood deletes it without keeping it." end
  return format("%s is deleted. Undo brings it back, until the trash needs its room%s.", path,
    #now.evicted > 0 and format(" (%d older are gone now)", #now.evicted) or "")
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
  if not done then
    -- The game leaves what had room of it. What is moved goes from where it was only once it is whole.
    if find(problem, "Out of space", 1, true) and fs.exists(from) then pcall(fs.delete, to) end
    return nil, problem
  end
  return format("%s is %s to %s.", from, verb, to)
end

local function undo(path, to)
  local numbers = trash.numbers()
  local number
  for i = #numbers, 1, -1 do
    if not path or trash.origin(numbers[i]) == path then
      number = numbers[i]
      break
    end
  end
  if not number then
    local origins = {}
    for i = #numbers, math.max(#numbers - 9, 1), -1 do origins[#origins + 1] = trash.origin(numbers[i]) end
    return nil, format("There is no %s in the trash%s.", path or "file",
      #origins > 0 and ", the last in it are " .. table.concat(origins, ", ") or ", nor anything else")
  end
  local target = to or trash.origin(number)
  if fs.exists(target) then
    return nil, format("%s is there again, and stays: say where to put what was deleted, by `to`.", target)
  end
  local above = paths.file_above(target)
  if above then
    return nil, format("%s can't be brought back, since %s is a file now: say where to put it, by `to`.", target, above)
  end
  local done, problem = try("It was not brought back", trash.take_back, number, target)
  if not done then return nil, problem end
  return format("%s is back; %d more in the trash.", target, #numbers - 1)
end

--- `manage-files`.
local function manage(arguments)
  local action = arguments.action
  local problem = misread(arguments.path or "") or misread(arguments.to or "")
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
