-- Makes folders.

local names = { ... }
if #names == 0 then
  print("Usage: " .. (arg[0] or "mkdir") .. " <paths>")
  return
end
for _, name in ipairs(names) do
  local path = shell.resolve(name)
  if fs.exists(path) and not fs.isDir(path) then
    printError(name .. ": Destination exists")
  else
    fs.makeDir(path)
  end
end
