-- What fits a glob: `**` is any folders.

local breathe = require("shared.breathe")
local paths = require("shared.paths")
local patterns = require("parts.patterns")

local find, format, gsub, match = string.find, string.format, string.gsub, string.match

local globs = {}

--- Files and folders that one goes through. A disk of the game holds 2000.
globs.WALKED = 20000

--- Whether a path is one.
function globs.is_glob(path)
  return find(path, "[*?]") ~= nil
end

-- A glob as a pattern of Lua: `**/` is any folders or none, `*` and `?` stay within a name.
local function pattern_of(glob)
  local escaped = gsub(glob, "[%^%$%(%)%%%.%[%]%+%-]", "%%%0")
  escaped = gsub(gsub(escaped, "%*%*/?", "\1"), "\1+", "\1")
  escaped = gsub(escaped, "%*+", "[^/]*")
  return "^" .. gsub(gsub(escaped, "%?", "[^/]"), "\1", ".-") .. "$"
end

--- Calls `visit(path, is_folder)` for all in a folder, by name; it says whether to go into a folder.
function globs.walk(folder, visit, budget)
  local names = fs.list(folder)
  table.sort(names)
  for _, name in ipairs(names) do
    local path = paths.inside(folder, name)
    local is_folder = fs.isDir(path)
    budget.left = budget.left - 1
    if budget.left < 0 then return end
    breathe()
    if visit(path, is_folder) and is_folder then globs.walk(path, visit, budget) end
  end
end

--- What fits a glob: a list of {path, is_folder}, and whether it is all; or nil and why not. The game's own files in
-- /rom only if they are asked for.
function globs.found(glob)
  glob = gsub(glob, "^/*", "/")
  local folder = paths.absolute(match(glob, "^(.-)/[^/]*[*?]"))
  local deep = find(glob, "**", 1, true) ~= nil
  local _, depth = gsub(glob, "/", "")
  local pattern, unfit = patterns.compiled(pattern_of(glob)), nil
  local found, budget = {}, { left = globs.WALKED }
  if not fs.isDir(folder) then return found, true end
  globs.walk(folder, function(path, is_folder)
    if path == "/rom" and not find(glob, "^/rom") then return false end
    local fits, is_cut = patterns.has(path, pattern)
    if is_cut then unfit = path end
    if fits then found[#found + 1] = { path, is_folder } end
    local _, at = gsub(path, "/", "")
    return deep or at < depth
  end, budget)
  if unfit then
    return nil, format("The glob %s has too many * for a path as long as %s: begin it with more of a folder.", glob,
      unfit)
  end
  return found, budget.left >= 0
end

return globs
