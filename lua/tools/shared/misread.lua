-- Paths that the game would read otherwise than they are written.

local absolute = require("shared.paths").absolute

local byte, find, format, gsub = string.byte, string.find, string.format, string.gsub
local gmatch, match = string.gmatch, string.match
local concat = table.concat

-- What the game drops from paths, and from globs.
local DROPPED, DROPPED_FROM_GLOBS = '[%z\1-\31"*:<>?|]', '[%z\1-\31":<>|]'

--- Why a path is not taken: the game would drop something of it, and so mean another file. Nil if it would not.
return function(path, may_be_glob)
  local dropped = may_be_glob and DROPPED_FROM_GLOBS or DROPPED
  local sign = match(path, dropped)
  local kept, has_dots = {}, false
  for name in gmatch(gsub(gsub(path, "\\", "/"), dropped, ""), "[^/]+") do
    if find(name, "^%s*%.%.%.+%s*$") then has_dots = true else kept[#kept + 1] = name end
  end
  local meant = absolute(concat(kept, "/"))
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
