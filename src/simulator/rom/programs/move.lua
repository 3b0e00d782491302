-- Calls fs.move for two paths.

local from, to = ...
if not to then
  print("Usage: " .. (arg[0] or "move") .. " <source> <destination>")
  return
end
from, to = shell.resolve(from), shell.resolve(to)
if fs.isDir(to) then to = fs.combine(to, fs.getName(from)) end
if not fs.exists(from) then
  printError("No matching files")
elseif fs.exists(to) then
  printError("Destination exists")
else
  fs.move(from, to)
end
