-- Paths as the game reads them.

local paths = {}

--- A path from the root on.
function paths.absolute(path)
  return "/" .. fs.combine("/", path or "")
end

--- The path of what has this name in a folder.
function paths.inside(folder, name)
  return (folder == "/" and "" or folder) .. "/" .. name
end

--- The file that is where a folder of this path would have to be; nil if there is none.
function paths.file_above(path)
  while path ~= "/" do
    path = paths.absolute(fs.getDir(path))
    if fs.exists(path) and not fs.isDir(path) then return path end
  end
end

return paths
