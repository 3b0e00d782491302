--- What runs when this computer starts: the player's own programs, and after them the agent.

local disk = require("mcp-computer.disk")
local setting = require("mcp-computer.setting")

local find, format, match = string.find, string.format, string.match
local concat, sort = table.concat, table.sort
local ipairs, pcall, type = ipairs, pcall, type
local fs = fs
local globals = _G

local autostart = {}

-- The game runs /startup or /startup.lua, then the files of the folder by their names: the agent's is the last, since
-- it may never end.
local FOLDER = "/startup"
local FILE = FOLDER .. "/zz-mcp-computer.lua"
-- What it was called up to 1.1.0.
local FORMER = FOLDER .. "/mcp-computer.lua"
-- Where files of the folder go that are to run in its shell.
local BESIDE = FOLDER .. "/own"
-- What a file has in it that starts the agent.
local NAME = "mcp-computer"
-- The setting that tells where files of the player's stood before they made room: of each `{ from, to, is_inside }`,
-- the last one if it runs in the agent's shell now.
local MOVED = "mcp_computer.moved"

-- Runs the agent beside a shell that is the player's, which runs this file again if several files of the player's are
-- to run in it. A file that is not whole, since the world ended in the midst of
-- an update with little room, is fetched again. The mark is in two parts, since this stands in that file too.
local CODE = [[
-- Starts mcp-computer with this computer. `mcp-computer uninstall` takes it away.
local program, installer, own = %q, %q, { %s }
if ... then
  for _, path in ipairs(own) do shell.run('"' .. path .. '"') end
  return
end
local file = fs.open(program, "rb")
local is_whole = file and (file.readAll() or ""):find("end of " .. "mcp-computer", 1, true)
if file then file.close() end
if not is_whole then shell.run("wget", "run", installer, "--repair") end
local first = own[2] and "%s own" or own[1]
shell.run(program, "--shell", "--greet", first and '--run "' .. first .. '"')
]]

-- What a program has in it that may well never end.
local ENDLESS = {
  "while%s+true%s+do", "while%s+1%s+do", "until%s+false", "waitForAny", "waitForAll", "os%.pullEvent",
  "rednet%.receive", "rednet%.run", "rednet%.host", "shell%.run%(%s*[\"']shell[\"']",
}

-- What a folder's disk runs at the start, in its order.
local function files_of(folder)
  local found = {}
  for _, name in ipairs({ "startup", "startup.lua" }) do
    local path = folder .. "/" .. name
    -- A file without an ending counts before the one with it, and only one of them does.
    if #found == 0 and fs.exists(path) and not fs.isDir(path) then found[1] = path end
  end
  local path = folder .. FOLDER
  if fs.isDir(path) then
    for _, name in ipairs(fs.list(path)) do
      if not fs.isDir(path .. "/" .. name) then found[#found + 1] = path .. "/" .. name end
    end
  end
  return found
end

--- Whether a file is the agent's own startup file, not one of the player's that starts it.
-- @tparam string path
-- @treturn boolean
function autostart.is_own(path)
  return path == FILE or path == FORMER
end

--- The file that starts the agent with this computer, and those that run before it.
-- @treturn string|nil Nil: none does.
-- @treturn {string,...}
function autostart.find()
  local before = {}
  for _, path in ipairs(files_of("")) do
    if find(disk.read(path) or "", NAME, 1, true) then return path, before end
    before[#before + 1] = path
  end
  return nil, before
end

--- A disk's file that runs in the place of the computer's own.
-- @treturn string|nil
function autostart.of_disk()
  local drives, names = globals.disk, globals.peripheral and globals.peripheral.getNames() or {}
  if not drives or setting.get("shell.allow_disk_startup") == false then return nil end
  for _, name in ipairs(names) do
    local ok, path = pcall(drives.getMountPath, name)
    if ok and path and drives.hasData(name) then
      local found = files_of("/" .. path)[1]
      if found then return found end
    end
  end
end

--- Whether the computer's own startup runs at all, as its settings say.
-- @treturn boolean
function autostart.is_allowed()
  return setting.get("shell.allow_startup") ~= false
end

--- The player's file that would run before the agent, and does not look as if it ended.
-- @treturn string|nil
function autostart.endless()
  for _, path in ipairs(files_of("")) do
    local text = not autostart.is_own(path) and disk.read(path) or ""
    for _, pattern in ipairs(ENDLESS) do
      if find(text, pattern) then return path end
    end
  end
end

--- Whether a file stands where the folder has to be.
-- @treturn boolean
function autostart.is_blocked()
  return fs.exists(FOLDER) and not fs.isDir(FOLDER)
end

local function all_moved()
  local moved = setting.get(MOVED)
  return type(moved) == "table" and moved or {}
end

-- Gives a file of the player's another name, and keeps in mind what it was.
local function move(from, to, is_inside)
  if fs.exists(to) then return nil, to .. " is there already" end
  local ok, problem = pcall(fs.move, from, to)
  if not ok then return nil, problem end
  local moved = all_moved()
  moved[#moved + 1] = { from = from, to = to, is_inside = is_inside }
  setting.keep(MOVED, moved)
  return true
end

-- Puts back what was moved last first, where nothing stands in its place by now.
local function move_back()
  local moved = all_moved()
  for i = #moved, 1, -1 do
    local from, to = moved[i].from, moved[i].to
    local is_empty = fs.isDir(from) and #fs.list(from) == 0
    if fs.exists(to) and (is_empty or not fs.exists(from)) then
      if is_empty then fs.delete(from) end
      fs.move(to, from)
    end
  end
  if fs.isDir(BESIDE) and #fs.list(BESIDE) == 0 then fs.delete(BESIDE) end
  if moved[1] then setting.keep(MOVED, nil) end
end

--- Lets the player's file /startup be /startup.lua, which runs as well, so that there can be a folder.
-- @treturn boolean|nil
-- @treturn string Why not.
function autostart.unblock()
  return move(FOLDER, FOLDER .. ".lua", false)
end

--- Lets a file of the player's run in the agent's shell.
-- @tparam string path
-- @treturn boolean|nil
-- @treturn string Why not.
function autostart.run_inside(path)
  -- What it requires is found beside it; a folder in that of the startup files does not run.
  local name = match(path, "^/([^/]+)$")
  if name then return move(path, "/own-" .. name, true) end
  fs.makeDir(BESIDE)
  return move(path, BESIDE .. "/" .. match(path, "([^/]+)$"), true)
end

--- Makes the agent start with the computer.
-- @tparam string program Its file.
-- @tparam string installer The address of the installer.
-- @treturn boolean|nil Whether it does now.
-- @treturn string Its startup file, or why not.
function autostart.add(program, installer)
  local inside, paths = {}, {}
  for _, moved in ipairs(all_moved()) do
    if moved.is_inside then inside[#inside + 1] = moved end
  end
  -- As the game would have run them.
  sort(inside, function(a, b) return a.from < b.from end)
  for i = 1, #inside do paths[i] = format("%q", inside[i].to) end
  local ok, problem = disk.replace(FILE, format(CODE, program, installer, concat(paths, ", "), FILE))
  if not ok then return nil, problem end
  if fs.exists(FORMER) then fs.delete(FORMER) end
  return true, FILE
end

--- Lets the agent start with the computer no more, and puts back what had made room for it.
-- @treturn boolean Whether there was anything.
function autostart.remove()
  local was = false
  for _, path in ipairs({ FILE, FORMER }) do
    if fs.exists(path) then
      fs.delete(path)
      was = true
    end
  end
  move_back()
  if was and fs.isDir(FOLDER) and #fs.list(FOLDER) == 0 then fs.delete(FOLDER) end
  return was
end

return autostart
