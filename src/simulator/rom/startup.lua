-- What a computer does first: names of programs, then the message of the day, the start-up files of its disk, then what
-- the host gave it.

local simulated = _G._SIMULATOR
_G._SIMULATOR = nil

for name, program in pairs {
  ls = "list", dir = "list", cp = "copy", mv = "move", rm = "delete", clr = "clear", rs = "redstone",
  sh = "shell",
} do
  shell.setAlias(name, program)
end

local path = shell.path()
if term.isColour() then
  path = path .. ":/rom/programs/advanced"
  shell.setAlias("background", "bg")
  shell.setAlias("foreground", "fg")
end
path = path .. (turtle and ":/rom/programs/turtle" or ":/rom/programs/rednet:/rom/programs/fun")
if term.isColour() and not turtle then path = path .. ":/rom/programs/fun/advanced" end
if pocket then path = path .. ":/rom/programs/pocket" end
if commands then path = path .. ":/rom/programs/command" end
shell.setPath(path)

--- The start-up files of a folder, in the order in which they run; nil if there are none.
local function startup_files(folder)
  local function at(name) return fs.combine(folder, name) end
  local found = {}
  local first = at(fs.exists(at("startup.lua")) and "startup.lua" or "startup")
  if fs.exists(first) and not fs.isDir(first) then found[1] = first end
  local more = at("startup")
  for _, name in ipairs(fs.isDir(more) and fs.list(more) or {}) do
    local file = fs.combine(more, name)
    if not fs.isDir(file) then found[#found + 1] = file end
  end
  return found[1] and found
end

if settings.get("motd.enable") then shell.run("motd") end

-- A disk's start-up files replace the computer's own.
local files
if settings.get("shell.allow_disk_startup") then
  for _, name in ipairs(peripheral.getNames()) do
    if not files and disk.isPresent(name) and disk.hasData(name) then files = startup_files(disk.getMountPath(name)) end
  end
end
if not files and settings.get("shell.allow_startup") then files = startup_files("") end
for _, file in ipairs(files or {}) do shell.run("/" .. file) end

if simulated and simulated.program ~= "" then
  simulated.state("running")
  simulated.state("ended", shell.run(simulated.program))
end
