-- Puts other contents into a file, whole or not at all, if it still is what the caller takes it for.

local errors = require("shared.errors")
local files = require("shared.files")
local hash_of = require("shared.hash")

local find, format = string.find, string.format
local reason = errors.reason

local replacing = {}

-- What `expectedHash` says of a file that must not be there.
local NONE = "none"

--- What is in a file; nil if there is none, and why it can't be read if there is.
function replacing.contents_of(path)
  if not fs.exists(path) then return nil end
  if fs.isDir(path) then return nil, format("%s is a folder, not a file.", path) end
  local text, problem = files.read(path)
  return text, problem and format("%s can't be read: %s.", path, problem)
end

local function free_in(path)
  local ok, free = pcall(fs.getFreeSpace, path)
  return ok and type(free) == "number" and format("%.0f bytes are free there.", free) or ""
end

--- Why a path was not written, in whole sentences.
function replacing.unwritten(path, problem)
  if find(problem, "Out of space", 1, true) then
    return format("%s was not written, since there is no space for it: %s", path, free_in(fs.getDir(path)))
  end
  local is_denied = find(problem, "Access denied", 1, true) and find(path .. "/", "/rom/", 1, true) == 1
  return format("%s was not written: %s.%s", path, problem, is_denied and " What is in /rom can't be changed." or "")
end

--- Replaces a file by way of one beside it, so that whatever happens one of the two is whole. Where there is no room
-- for both, it is written over, and put back if that fails.
function replacing.replace(path, bytes, before)
  local beside = path .. ".new"
  local count = 1
  while fs.exists(beside) do
    count = count + 1
    beside = path .. ".new" .. count
  end
  local made, problem = files.write(beside, "wb", bytes)
  if made then
    local moved, thrown = pcall(function()
      if before then fs.delete(path) end
      fs.move(beside, path)
    end)
    if moved then return true end
    problem = reason(thrown)
    if before and not fs.exists(path) then files.write(path, "wb", before) end
  end
  pcall(fs.delete, beside)
  -- Old games copy what they move, and so need room for it twice.
  if (before or made) and find(problem, "Out of space", 1, true) then
    made, problem = files.write(path, "wb", bytes)
    if made then return true end
    if not before then
      pcall(fs.delete, path)
    elseif not files.write(path, "wb", before) then
      return nil, replacing.unwritten(path, problem) .. " What was there is lost."
    end
  end
  return nil, replacing.unwritten(path, problem)
end

--- Whether a file is what the caller takes it for; or nil and what it is.
function replacing.as_expected(path, before, expected)
  if not expected or expected == (before and hash_of(before) or NONE) then return true end
  if not before then return nil, format("There is no %s any more, and nothing was written.", path) end
  if expected == NONE then
    return nil, format("%s is there already, with %d bytes and hash %s, and nothing was written.", path, #before,
      hash_of(before))
  end
  return nil, format("%s has changed: its hash is %s now, not %s. Nothing was written; read it again with read-file.",
    path, hash_of(before), expected)
end

return replacing
