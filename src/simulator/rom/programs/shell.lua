-- The shell: runs programs by name, with `shell`, `require`, `package` and `arg` of their own.
-- luacheck: globals shell

local expect_module = dofile("/rom/modules/main/cc/expect.lua")
local expect = expect_module.expect
local make_require = loadfile("/rom/modules/main/cc/require.lua", nil, _ENV)

local parent = shell
local folder = parent and parent.dir() or ""
local path = parent and parent.path() or ".:/rom/programs:/rom/programs/http"
local aliases = {}
local completions = {}
local running = {}
local exiting = false

for name, program in pairs(parent and parent.aliases() or {}) do aliases[name] = program end

local own = {}

-- From 1.103.1, and in 1.101.3, a program is a coroutine of its own.
local minor, patch = _HOST:match("ComputerCraft 1%.(%d+)%.(%d+)")
minor, patch = tonumber(minor), tonumber(patch)
local as_coroutine = minor >= 104 or (minor == 103 and patch >= 1) or (minor == 101 and patch >= 3)

--- The words of a command line; quotes keep spaces.
local function words(...)
  local line = table.concat({ ... }, " ")
  local found, quoted = {}, false
  for part in (line .. '"'):gmatch("(.-)\"") do
    if quoted then
      found[#found + 1] = part
    else
      for word in part:gmatch("[^ \t]+") do found[#found + 1] = word end
    end
    quoted = not quoted
  end
  return found
end

local function environment(of_folder)
  local made = { shell = own, multishell = multishell }
  local require_module = make_require(expect_module)
  made.require, made.package = require_module.make(made, of_folder)
  return made
end

local function run_program(made, program, ...)
  if not as_coroutine then return os.run(made, program, ...) end
  local file, missing = fs.open(program, "rb")
  if not file then
    printError(missing)
    return false
  end
  local source = file.readAll() or ""
  file.close()
  local code, problem = load(source, "@/" .. program, nil, setmetatable(made, { __index = _G }))
  if not code then
    printError(problem)
    return false
  end
  local thread = coroutine.create(code)
  local result = table.pack(coroutine.resume(thread, ...))
  while coroutine.status(thread) ~= "dead" do
    local event = table.pack(os.pullEventRaw(result[2]))
    if result[2] == nil or event[1] == result[2] or event[1] == "terminate" then
      result = table.pack(coroutine.resume(thread, table.unpack(event, 1, event.n)))
    end
  end
  if not result[1] and result[2] and result[2] ~= "" then printError(result[2]) end
  return result[1]
end

function own.exit() exiting = true end

function own.dir() return folder end

function own.setDir(new)
  expect(1, new, "string")
  if not fs.isDir(new) then error("Not a directory", 2) end
  folder = fs.combine(new)
end

function own.path() return path end

function own.setPath(new)
  expect(1, new, "string")
  path = new
end

function own.resolve(name)
  expect(1, name, "string")
  local first = name:sub(1, 1)
  if first == "/" or first == "\\" then return fs.combine(name) end
  return fs.combine(folder, name)
end

local function program_at(where)
  for _, candidate in ipairs { where, where .. ".lua" } do
    if fs.exists(candidate) and not fs.isDir(candidate) then return candidate end
  end
end

function own.resolveProgram(name)
  expect(1, name, "string")
  name = aliases[name] or name
  if name:find("/") or name:find("\\") then return program_at(own.resolve(name)) end
  for part in path:gmatch("[^:]+") do
    local found = program_at(fs.combine(own.resolve(part), name))
    if found then return found end
  end
  return nil
end

function own.programs(hidden)
  expect(1, hidden, "boolean", "nil")
  local seen, names = {}, {}
  for part in path:gmatch("[^:]+") do
    local where = own.resolve(part)
    for _, name in ipairs(fs.isDir(where) and fs.list(where) or {}) do
      if not fs.isDir(fs.combine(where, name)) and (hidden or name:sub(1, 1) ~= ".") then
        name = name:gsub("(.)%.lua$", "%1")
        if not seen[name] then
          seen[name] = true
          names[#names + 1] = name
        end
      end
    end
  end
  table.sort(names)
  return names
end

function own.setAlias(name, program)
  expect(1, name, "string")
  expect(2, program, "string")
  aliases[name] = program
end

function own.clearAlias(name)
  expect(1, name, "string")
  aliases[name] = nil
end

function own.aliases()
  local copied = {}
  for name, program in pairs(aliases) do copied[name] = program end
  return copied
end

function own.getRunningProgram() return running[#running] end

function own.setCompletionFunction(program, complete)
  expect(1, program, "string")
  expect(2, complete, "function")
  completions[program] = { fnComplete = complete }
end

function own.getCompletionInfo() return completions end

function own.complete(line)
  expect(1, line, "string")
  local name = line:match("^%s*(%S*)$")
  return name and name ~= "" and own.completeProgram(name) or {}
end

function own.completeProgram(name)
  expect(1, name, "string")
  local found = {}
  for _, program in ipairs(own.programs()) do
    if #program > #name and program:sub(1, #name) == name then found[#found + 1] = program:sub(#name + 1) end
  end
  return found
end

function own.execute(name, ...)
  expect(1, name, "string")
  for n = 1, select("#", ...) do expect(n + 1, (select(n, ...)), "string") end
  local program = own.resolveProgram(name)
  if not program then
    printError("No such program")
    return false
  end
  running[#running + 1] = program
  if multishell then multishell.setTitle(multishell.getCurrent(), (fs.getName(program):gsub("%.lua$", ""))) end
  local made = environment(fs.getDir(program))
  made.arg = { [0] = name, ... }
  local ok = run_program(made, program, ...)
  running[#running] = nil
  if multishell then
    local title = running[#running] and fs.getName(running[#running]):gsub("%.lua$", "") or "shell"
    multishell.setTitle(multishell.getCurrent(), title)
  end
  return ok
end

function own.run(...)
  local parts = words(...)
  if #parts == 0 then return false end
  return own.execute(table.unpack(parts))
end

if multishell then
  function own.openTab(...)
    local parts = words(...)
    local name = parts[1]
    if not name then return nil end
    local program = own.resolveProgram(name)
    if not program then
      printError("No such program")
      return nil
    end
    if program == "rom/programs/shell.lua" and #parts == 1 then
      return multishell.launch(environment("rom/programs"), program)
    end
    return multishell.launch(environment("rom/programs"), "rom/programs/shell.lua", table.unpack(parts))
  end

  function own.switchTab(id)
    expect(1, id, "number")
    multishell.setFocus(id)
  end
end

shell = own

local args = { ... }
if #args > 0 then
  own.run(...)
  return
end

---------------------------------------------------------------- the prompt

local function coloured(colour, text, printer)
  local before = term.getTextColour()
  if term.isColour() then term.setTextColour(colour) end
  (printer or write)(text)
  term.setTextColour(before)
end

coloured(colours.yellow, os.version(), print)
if not parent then own.run("/rom/startup.lua") end

local history = {}
while not exiting do
  coloured(colours.yellow, own.dir() .. "> ")
  local line = read(nil, history)
  if line:match("%S") and history[#history] ~= line then history[#history + 1] = line end
  own.run(line)
end
