--- install: fetches mcp-computer from the bridge that served this program.
--
-- In the game: wget run http://HOST:3001/install.lua [--startup]

-- The bridge fills in its own address when it serves this program.
local DEFAULT_URL = nil
local PROGRAM = "/mcp-computer.lua"
local STARTUP_FOLDER = "/startup"
local STARTUP = STARTUP_FOLDER .. "/mcp-computer.lua"

-- Runs the agent in a tab of its own where there are tabs, so that the shell stays the player's.
local STARTUP_CODE = [[
if multishell then
  shell.openTab("]] .. PROGRAM .. [[")
else
  shell.run("]] .. PROGRAM .. [[")
end
]]

--- Writes a whole file, or leaves the old one as it was.
-- @tparam string path
-- @tparam string content
local function write_file(path, content)
  local new = path .. ".new"
  local file, problem = fs.open(new, "wb")
  if not file then error(("%s can't be written: %s"):format(new, tostring(problem)), 0) end
  local written, reason = pcall(function()
    file.write(content)
    file.close()
  end)
  if not written then
    pcall(file.close)
    pcall(fs.delete, new)
    error(("%s can't be written: %s"):format(path, tostring(reason)), 0)
  end
  fs.delete(path)
  fs.move(new, path)
end

--- Fetches the agent.
-- @tparam string url
-- @treturn string Its source.
local function fetch(url)
  local response, problem = http.get(url, nil, true)
  if not response then error(("%s can't be fetched: %s"):format(url, tostring(problem)), 0) end
  local source = response.readAll()
  response.close()
  local program, broken = load(source, "=mcp-computer", "t", {})
  if not program then error(("What came from %s is no program: %s"):format(url, tostring(broken)), 0) end
  return source
end

--- Makes the agent start with the computer.
local function start_at_boot()
  if fs.exists(STARTUP_FOLDER) and not fs.isDir(STARTUP_FOLDER) then
    error(("%s is a file, so nothing can be put beside it. Add this line to it: shell.run(%q)")
      :format(STARTUP_FOLDER, PROGRAM), 0)
  end
  write_file(STARTUP, STARTUP_CODE)
  print("It starts with this computer: " .. STARTUP)
end

if not DEFAULT_URL then
  error("Run this from a bridge: wget run http://HOST:3001/install.lua", 0)
end
local option = ...
if option ~= nil and option ~= "--startup" and option ~= "startup" then
  error("Usage: wget run " .. DEFAULT_URL:gsub("^ws", "http") .. "install.lua [--startup]", 0)
end

write_file(PROGRAM, fetch((DEFAULT_URL:gsub("^ws", "http")) .. PROGRAM:sub(2)))
print("Installed " .. PROGRAM)
if option then
  start_at_boot()
else
  print("With --startup it also starts with this computer.")
end
print("Start it now with: mcp-computer")
