-- What is on a computer's disk, and how it is told what is not.

local files = require("shared.files")
local paths = require("shared.paths")

local format = string.format

local disk = {}

local function call_for(tool, key, value)
  return format("%s {%q: %q}", tool, key, value)
end

--- Why nothing has this path.
function disk.no_such(path)
  return format("There is no %s on this computer: %s shows what there is.", path,
    call_for("list-files", "path", paths.absolute(fs.getDir(path))))
end

--- How much is free where a path is.
function disk.free_in(path)
  local free = fs.getFreeSpace(path)
  local capacity = fs.getCapacity and fs.getCapacity(path)
  if type(free) ~= "number" then return "any number of bytes are free" end
  return format("%.0f%s bytes are free", free, type(capacity) == "number" and format(" of %.0f", capacity) or "")
end

--- A file's bytes; or nil and why not.
function disk.contents_of(path)
  if not fs.exists(path) then return nil, disk.no_such(path) end
  if fs.isDir(path) then
    return nil, format("%s is a folder: %s shows what is in it.", path, call_for("list-files", "path", path))
  end
  local text, problem = files.read(path)
  return text, problem and format("%s can't be read: %s.", path, problem)
end

return disk
