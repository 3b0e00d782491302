-- Writes files of a computer: whole, or at their end.

local base64 = require("shared.base64")
local errors = require("shared.errors")
local files = require("shared.files")
local hash_of = require("shared.hash")
local misread = require("shared.misread")
local paths = require("shared.paths")
local replacing = require("parts.replacing")

local format = string.format

local function is_own_folder(path)
  return path == "/" or fs.isDir(path)
end

--- `write-file`.
local function write(arguments)
  local problem = misread(arguments.path)
  if problem then return nil, problem end
  local path = paths.absolute(arguments.path)
  if is_own_folder(path) then return nil, format("%s is a folder: name a file in it.", path) end
  local above = paths.file_above(path)
  if above then
    return nil, format("%s was not written: %s is a file, and nothing can be in it. Choose another path, or move %s " ..
      "with manage-files.", path, above, above)
  end
  local bytes = arguments.content
  if arguments.base64 then
    bytes = base64.decode(bytes)
    if not bytes then return nil, "The content is no base64, and nothing was written." end
  end
  local before, unreadable = replacing.contents_of(path)
  if unreadable then return nil, unreadable end
  local expected
  expected, problem = replacing.as_expected(path, before, arguments.expectedHash)
  if not expected then return nil, problem end

  local done
  if arguments.append and before then
    done, problem = files.write(path, "ab", bytes)
    if not done then
      files.write(path, "wb", before)
      return nil, replacing.unwritten(path, problem)
    end
    bytes = before .. bytes
  else
    done, problem = replacing.replace(path, bytes, before)
    if not done then return nil, problem end
  end
  local was = before and format("%d before", #before) or "it is new"
  return format("%s has %d bytes now (%s), hash %s.", path, #bytes, was, hash_of(bytes))
end

return { write = errors.kept_short(write) }
