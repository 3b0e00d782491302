--- install: fetches mcp-computer from the bridge that served this program.
--
-- In the game: wget run http://HOST:3001/install.lua [--startup]

-- The bridge fills in its own address when it serves this program.
local DEFAULT_URL = nil
local PROGRAM = "/mcp-computer.lua"
local STARTUP_FOLDER = "/startup"
local STARTUP = STARTUP_FOLDER .. "/mcp-computer.lua"

local disk = require("mcp-computer.disk")
local presence = require("mcp-computer.presence")
local update = require("mcp-computer.update")

-- Runs the agent in a tab of its own where there are tabs, so that the shell stays the player's. A file that is not
-- whole, since the world ended in the midst of an update with little room, is fetched again.
local STARTUP_CODE = [[
local program, installer = %q, %q
local file = fs.open(program, "rb")
local is_whole = file and (file.readAll() or ""):find("end of mcp-computer", 1, true)
if file then file.close() end
if not is_whole then shell.run("wget", "run", installer) end
if multishell then
  shell.openTab(program)
else
  shell.run(program)
end
]]

local function write_file(path, content)
  local ok, problem = disk.replace(path, content)
  if not ok then error(problem, 0) end
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
-- @tparam string program Its file.
-- @tparam string installer The address of this program.
local function start_at_boot(program, installer)
  if fs.exists(STARTUP_FOLDER) and not fs.isDir(STARTUP_FOLDER) then
    error(("%s is a file, so nothing can be put beside it. Add this line to it: shell.run(%q)")
      :format(STARTUP_FOLDER, program), 0)
  end
  write_file(STARTUP, STARTUP_CODE:format(program, installer))
  print("It starts with this computer: " .. STARTUP)
end

if not DEFAULT_URL then
  error("Run this from a bridge: wget run http://HOST:3001/install.lua", 0)
end
local bridge = DEFAULT_URL:gsub("^ws", "http")
local installer = bridge .. "install.lua"
local option = ...
if option ~= nil and option ~= "--startup" and option ~= "startup" then
  error("Usage: wget run " .. installer .. " [--startup]", 0)
end

local source = fetch(bridge .. PROGRAM:sub(2))
local name = "install " .. os.epoch("utc")
local running = presence.ask(name)
local program = running and running.path or PROGRAM
if running and running.path then
  local ok, problem = update.ask(name, source)
  if not ok then error(("The mcp-computer that runs here does not update itself: %s"):format(problem), 0) end
  print("The mcp-computer that runs here updates itself: " .. program)
  print("If the new version does not link within 30 seconds, the present one goes on.")
else
  write_file(program, source)
  print("Installed " .. program)
end
if option then
  start_at_boot(program, installer)
else
  print("With --startup it also starts with this computer.")
end
if running and not running.path then
  print("One runs here already: end it with Ctrl+T, then start this one with: mcp-computer")
elseif not running then
  print("Start it now with: mcp-computer")
end
