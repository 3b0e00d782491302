--- Puts the agent onto this computer: its file, its address, and what starts it.

local autostart = require("mcp-computer.autostart")
local disk = require("mcp-computer.disk")
local question = require("mcp-computer.question")
local setting = require("mcp-computer.setting")
local update = require("mcp-computer.update")
local url = require("mcp-computer.url")

local find, format = string.find, string.format
local error, load, pcall, print, tostring, type = error, load, pcall, print, tostring, type
local fs, http, textutils = fs, http, textutils
local globals = _G

local installation = {}

-- Where the agent's file belongs, and where TrapOS's package manager has it, and keeps what is installed.
local PROGRAM, PACKAGED, PACKAGES = "/mcp-computer.lua", "/programs/mcp-computer.lua", "/trapos/ccpm.lock.json"
local PACKAGE = "mcp-computer"

--- What a bridge serves under a path.
-- @tparam string address Of the link.
-- @tparam string path
-- @treturn string A URL.
-- @throws What is wrong with the address.
function installation.page(address, path)
  local parsed, malformed = url.parse(address)
  if not parsed then error(malformed, 0) end
  return url.page(parsed, path)
end

--- Fetches the agent from a bridge.
-- @tparam string address Of the link.
-- @treturn string Its source.
-- @throws Why it can't be had.
function installation.fetch(address)
  local from = installation.page(address, PROGRAM)
  local response, problem = http.get(from, nil, true)
  if not response then error(format("%s can't be fetched: %s", from, tostring(problem)), 0) end
  local source = response.readAll()
  response.close()
  local program, broken = load(source, "=mcp-computer", "t", {})
  if not program then error(format("What came from %s is no program: %s", from, tostring(broken)), 0) end
  return source
end

-- Whether TrapOS's package manager has installed the agent.
local function is_packaged()
  local ok, known = pcall(function() return textutils.unserializeJSON(disk.read(PACKAGES)) end)
  local packages = ok and type(known) == "table" and known.packages
  return type(packages) == "table" and packages[PACKAGE] ~= nil and fs.exists(PACKAGED)
end

--- Where the agent is installed.
-- @treturn string|nil Its file, or the one that counts.
-- @treturn string|nil Another one, from the other way of installing it.
-- @treturn boolean Whether the first came with TrapOS's package manager.
function installation.find()
  local own = update.is_agent(PROGRAM) and PROGRAM or nil
  if is_packaged() then return PACKAGED, own, true end
  return own, nil, false
end

local function without_installing(address)
  return format("To start it all the same, without installing it:\nwget run %s",
    installation.page(address, PROGRAM))
end

local function put(options)
  local running, source = options.running, options.source
  if running and running.path then
    local ok, problem = update.ask(options.name, source)
    if not ok then error(format("The mcp-computer that runs here does not update itself: %s", problem), 0) end
    print("The mcp-computer that runs here updates itself: " .. running.path)
    print("If the new version does not link within 30 seconds, the present one goes on.")
    return running.path
  end
  local path = options.path or installation.find() or PROGRAM
  if fs.isReadOnly(path) then
    error("This computer's disk can't be written.\n" .. without_installing(options.address), 0)
  end
  local has_room, lack = disk.has_room(path, #source)
  if not has_room then
    error(format("mcp-computer can't be installed: %s.\nDelete some files. %s", lack,
      without_installing(options.address)), 0)
  end
  local ok, problem = disk.replace(path, source)
  if not ok then error(problem, 0) end
  print("Installed " .. path)
  return path
end

--- Installs a version, or gives it to the agent that runs, which updates itself.
-- @tparam table options `source`; `running`: see @{presence.ask}; `name`: who asks; `address`: the bridge's; `is_new`:
--   whether that is the address from now on; `path`: the file, if it is not the one that is installed already.
-- @treturn string The agent's file.
-- @throws Why not, and what to do.
function installation.put(options)
  local former = setting.get(setting.URL)
  -- The new version may look for it before it is known here that it runs.
  if options.is_new then setting.keep(setting.URL, options.address) end
  local ok, result = pcall(put, options)
  if ok then return result end
  if options.is_new then setting.keep(setting.URL, former) end
  error(result, 0)
end

-- Whether the player was told what they should read.
local has_note = false

local function note(line)
  has_note = true
  print(line)
end

-- Makes room for the startup file where something of the player's is in its way, if they want that.
local function make_way(program)
  if autostart.is_blocked() then
    print("/startup is a file, so nothing can be put beside it.")
    if not question.ask("Rename it to /startup.lua, which runs just as well?", true) then
      return nil, format("/startup is a file. Add this line to it: shell.run(%q)", program)
    end
    local ok, problem = autostart.unblock()
    if not ok then return nil, problem end
  end
  local endless = autostart.endless()
  while endless do
    print(endless .. " runs before it, and does not look as if it ended. If so, mcp-computer never starts.")
    if not question.ask("Run that one in the shell that mcp-computer runs beside?", true) then
      note("If it never ends, mcp-computer does not start with this computer.")
      break
    end
    local ok, problem = autostart.run_inside(endless)
    if not ok then return nil, problem end
    note(endless .. " has another name for that, and its own again after `mcp-computer uninstall`.")
    endless = autostart.endless()
  end
  return true
end

--- Makes the agent start with the computer, and says so.
-- @tparam table options `program`: its file; `address`: the bridge's.
-- @throws Why it can't be.
function installation.start_at_boot(options)
  local own = autostart.find()
  if own and not autostart.is_own(own) then
    print("It starts with this computer already: " .. own)
    if not find(disk.read(own) or "", "--shell", 1, true) then
      note("But without --shell: it takes the whole screen then, which no bridge can see.")
    end
    return
  end
  local ok, problem = make_way(options.program)
  if ok then ok, problem = autostart.add(options.program, installation.page(options.address, "/install.lua")) end
  if not ok then error(problem, 0) end
  print("It starts with this computer: " .. problem)
  if not autostart.is_allowed() then note("But startup is off here. To switch it on: set shell.allow_startup true") end
  local of_disk = autostart.of_disk()
  if of_disk then note(of_disk .. " runs instead, as long as that disk is in.") end
end

--- Does what is left to do when the file is there: what starts it.
-- @tparam table options `program`: its file; `address`: the bridge's; `startup`: whether it is to start with the
--   computer, nil: that is asked.
-- @throws Why it can't be.
function installation.finish(options)
  local wants = options.startup
  if wants == nil then
    wants = autostart.find() ~= nil or question.ask("Start it whenever this computer starts?", true)
  end
  if wants then
    installation.start_at_boot(options)
  elseif autostart.remove() then
    print("It starts with this computer no more.")
  end
  if globals.pocket then note("A pocket computer is on, and linked, only while somebody carries it.") end
end

--- Starts the agent, beside a shell that is the player's.
-- @tparam string program Its file.
-- @tparam table shell
function installation.start(program, shell)
  -- That shell has a screen of its own, which is empty at first.
  if has_note then question.wait("Enter starts mcp-computer.") end
  shell.run(program, "--shell")
end

return installation
