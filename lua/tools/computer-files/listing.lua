-- Lists what is on a computer's disk: a folder, or what fits a glob.

local breathe = require("shared.breathe")
local errors = require("shared.errors")
local misread = require("shared.misread")
local paths = require("shared.paths")
local texts = require("shared.texts")
local disk = require("parts.disk")
local globs = require("parts.globs")

local find, format, gsub = string.find, string.format, string.gsub
local concat = table.concat

-- Characters of an answer: clients cut or refuse longer ones. Of them a heading and a note take some.
local LONGEST, HEADING = 40000, 500
-- Entries in one answer.
local ENTRIES = 500

local function described(path, is_folder)
  if not is_folder then return format("%s %.0f", path, fs.getSize(path)) end
  local notes = {}
  if fs.isReadOnly(path) then notes[1] = "read-only" end
  -- `isDriveRoot` came late; a drive that is another than that of its folder begins here.
  local drive = fs.getDrive(path)
  if drive ~= fs.getDrive(fs.getDir(path)) then
    notes[#notes + 1] = "drive " .. tostring(drive)
    if not notes[2] then notes[2] = disk.free_in(path) end
  end
  return path .. (path == "/" and "" or "/") .. (notes[1] and " (" .. concat(notes, ", ") .. ")" or "")
end

--- `list-files`.
local function list(arguments)
  local path = arguments.path or "/"
  local problem = misread(path, true)
  if problem then return nil, problem end
  local found, is_all = {}, true
  if globs.is_glob(path) then
    found, is_all = globs.found(path)
    if not found then return nil, is_all end
    path = gsub(path, "^/*", "/")
  else
    path = paths.absolute(path)
    if not fs.exists(path) then return nil, disk.no_such(path) end
    if not fs.isDir(path) then return format("%s; %s.", described(path, false), disk.free_in(path)) end
    globs.walk(path, function(entry, is_folder) found[#found + 1] = { entry, is_folder } end, { left = globs.WALKED })
  end

  local skipped = arguments.offset or 0
  if skipped > 0 and skipped >= #found then
    return nil, format("There are only %d, so none is left after %d.", #found, skipped)
  end
  local lines, length, last = {}, HEADING, skipped
  for i = skipped + 1, math.min(#found, skipped + ENTRIES) do
    local line = texts.shown(described(found[i][1], found[i][2]))
    length = length + #line + 1
    if length > LONGEST then break end
    lines[#lines + 1], last = line, i
    breathe()
  end
  local folder = globs.is_glob(path) and "/" or path
  local verb = globs.is_glob(path) and (#found == 1 and "fits" or "fit") or "in"
  local heading = format("%d %s %s; %s.", #found, verb, path, disk.free_in(folder))
  if not is_all then
    heading = heading
      .. format(" Only %d files and folders were looked at: begin the glob with a folder.", globs.WALKED)
  end
  if skipped > 0 or last < #found then
    heading = heading .. format(" Here are %d to %d%s.", skipped + 1, last,
      last < #found and format("; go on with offset %d", last) or "")
  end
  if #found == 0 and globs.is_glob(path) and not find(path, "^/rom") then
    heading = heading .. " Globs pass over /rom unless they begin with it."
  end
  table.insert(lines, 1, heading)
  return concat(lines, "\n")
end

return { list = errors.kept_short(list) }
