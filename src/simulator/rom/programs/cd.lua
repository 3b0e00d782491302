-- Goes to another folder.

local name = ...
if not name then
  print("Usage: " .. (arg[0] or "cd") .. " <path>")
  return
end
local folder = shell.resolve(name)
if fs.isDir(folder) then
  shell.setDir(folder)
else
  print("Not a directory")
end
