-- Says whether a path is a file or a folder.

local name = ...
if not name then
  print("Usage: " .. (arg[0] or "type") .. " <path>")
  return
end
local path = shell.resolve(name)
print(not fs.exists(path) and "No such path" or fs.isDir(path) and "directory" or "file")
