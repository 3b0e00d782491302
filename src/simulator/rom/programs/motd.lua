-- Shows one of the messages of the day, which stand in files, one a line.

local lines = {}
for path in (settings.get("motd.path") or ""):gmatch("[^:]+") do
  local file = fs.exists(path) and not fs.isDir(path) and fs.open(path, "r")
  if file then
    for line in file.readLine do
      if line:match("%S") then lines[#lines + 1] = line end
    end
    file.close()
  end
end
print(lines[1] and lines[math.random(#lines)] or "missingno")
