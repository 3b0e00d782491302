-- Deletes files and folders, by name or wildcard.

local names = { ... }
if #names == 0 then
  print("Usage: " .. (arg[0] or "delete") .. " <paths>")
  return
end
for _, name in ipairs(names) do
  local found = fs.find(shell.resolve(name))
  if #found == 0 then printError(name .. ": No matching files") end
  for _, path in ipairs(found) do
    local ok, problem = pcall(fs.delete, path)
    if not ok then printError((problem:gsub("^.-:%d+: ", ""))) end
  end
end
