-- Paths as the game reads them.

local byte, find, format, gsub = string.byte, string.find, string.format, string.gsub
local gmatch, match = string.gmatch, string.match
local concat = table.concat

local paths = {}

-- What the game drops from paths, and from globs.
local DROPPED, DROPPED_FROM_GLOBS = '[%z\1-\31"*:<>?|]', '[%z\1-\31":<>|]'

--- A path from the root on.
function paths.absolute(path)
  return "/" .. fs.combine("/", path or "")
end

--- The path of what has this name in a folder.
function paths.inside(folder, name)
  return (folder == "/" and "" or folder) .. "/" .. name
end

--- Why a path is not taken: the game would drop something of it, and so mean another file. Nil if it would not.
function paths.misread(path, may_be_glob)
  local dropped = may_be_glob and DROPPED_FROM_GLOBS or DROPPED
  local sign = match(path, dropped)
  local kept, has_dots = {}, false
  for name in gmatch(gsub(gsub(path, "\\", "/"), dropped, ""), "[^/]+") do
    if find(name, "^%s*%.%.%.+%s*$") then has_dots = true else kept[#kept + 1] = name end
  end
  local meant = paths.absolute(concat(kept, "/"))
  if sign == "*" or sign == "?" then
    return format("%s is no glob here: the game drops its %s, so %s would be meant. Nothing was done; name each " ..
      "file: list-files {\"path\": %q} shows them.", path, sign, meant, path)
  elseif sign then
    return format("%s has %s in it, which the game drops, so %s would be meant. Nothing was done; choose a name " ..
      "without.", path, byte(sign) < 32 and "a control character" or sign, meant)
  elseif has_dots then
    return format("%s has a name of dots alone, which the game drops, so %s would be meant. Nothing was done; name " ..
      "it without.", path, meant)
  end
end

--- The file that is where a folder of this path would have to be; nil if there is none.
function paths.file_above(path)
  while path ~= "/" do
    path = paths.absolute(fs.getDir(path))
    if fs.exists(path) and not fs.isDir(path) then return path end
  end
end

return paths
