-- The simulated computer's operating system: the global functions, the APIs, then the shell.
-- luacheck: globals _HOST _CC_DEFAULT_SETTINGS os sleep write print printError loadfile dofile

local native = ...
local system = native.os

_HOST = system.host
_CC_DEFAULT_SETTINGS = ""

-- APIs that the game has in Java: no error and no traceback shows their lines.
local hidden = {}
for _, name in ipairs { "time", "fs", "redstone", "handles", "devices" } do hidden["apis/" .. name .. ".lua"] = true end

--- Loads an embedded file with `_G` around it.
local function embedded(path, ...)
  local source = native.files[path] or error("the simulator has no file " .. path, 0)
  return assert(load(source, hidden[path] and "=[native]" or "@/rom/" .. path, "t", _ENV))(...)
end

native.embedded = embedded
local expect = embedded("modules/main/cc/expect.lua").expect
native.expect = expect

---------------------------------------------------------------- os

os = {}

function os.version()
  return system.atLeast(1, 109) and "CraftOS 1.9" or "CraftOS 1.8"
end

function os.pullEventRaw(filter)
  return coroutine.yield(filter)
end

function os.pullEvent(filter)
  local event = table.pack(coroutine.yield(filter))
  if event[1] == "terminate" then error("Terminated", 0) end
  return table.unpack(event, 1, event.n)
end

function os.getComputerID() return system.id end
os.computerID = os.getComputerID
os.getComputerLabel = system.getLabel
os.computerLabel = system.getLabel
os.setComputerLabel = system.setLabel

os.queueEvent = system.queueEvent
os.startTimer = system.startTimer
os.cancelTimer = system.cancelTimer
os.setAlarm = system.setAlarm
os.cancelAlarm = system.cancelAlarm
os.clock = system.clock

local function never_returns(switch)
  return function()
    switch()
    while true do coroutine.yield() end
  end
end

os.shutdown = never_returns(system.shutdown)
os.reboot = never_returns(system.reboot)

embedded("apis/time.lua", native)

function sleep(seconds)
  expect(1, seconds, "number", "nil")
  local timer = os.startTimer(seconds or 0)
  repeat
    local _, id = os.pullEvent("timer")
  until id == timer
end

os.sleep = sleep

function os.run(environment, path, ...)
  expect(1, environment, "table")
  expect(2, path, "string")
  local program, problem = loadfile(path, nil, setmetatable(environment, { __index = _G }))
  if not program then
    if problem and problem ~= "" then printError(problem) end
    return false
  end
  local ok, failure = pcall(program, ...)
  if not ok and failure and failure ~= "" then printError(failure) end
  return ok
end

function os.loadAPI(path)
  expect(1, path, "string")
  local name = fs.getName(path):gsub("%.lua$", "")
  local environment = setmetatable({}, { __index = _G })
  local chunk, problem = loadfile(path, nil, environment)
  if not chunk then error("Failed to load API " .. name .. " due to " .. problem, 1) end
  local ok, failure = pcall(chunk)
  if not ok then error("Failed to load API " .. name .. " due to " .. tostring(failure), 1) end
  local api = {}
  for key, value in pairs(environment) do
    if key ~= "_ENV" then api[key] = value end
  end
  _G[name] = api
  return true
end

function os.unloadAPI(name)
  expect(1, name, "string")
  if name ~= "_G" and type(_G[name]) == "table" then _G[name] = nil end
end

---------------------------------------------------------------- text in and out

--- Draws text at the cursor, wrapped at words; returns how many lines it began.
function write(text)
  expect(1, text, "string", "number")
  text = tostring(text)
  local width, height = term.getSize()
  local lines = 0
  local function new_line()
    local _, y = term.getCursorPos()
    if y + 1 <= height then
      term.setCursorPos(1, y + 1)
    else
      term.setCursorPos(1, height)
      term.scroll(1)
    end
    lines = lines + 1
  end
  local at = 1
  while at <= #text do
    local spaces = text:match("^[ \t]+", at)
    if spaces then
      local x = term.getCursorPos()
      if x + #spaces > width + 1 then spaces = spaces:sub(1, math.max(width + 1 - x, 0)) end
      term.write(spaces)
      at = at + #text:match("^[ \t]+", at)
    elseif text:sub(at, at) == "\n" then
      new_line()
      at = at + 1
    else
      local word = text:match("^[^ \t\n]+", at)
      at = at + #word
      if #word > width then
        while #word > 0 do
          local x = term.getCursorPos()
          if x > width then
            new_line()
            x = 1
          end
          local part = word:sub(1, width - x + 1)
          term.write(part)
          word = word:sub(#part + 1)
        end
      else
        local x = term.getCursorPos()
        if x + #word - 1 > width then new_line() end
        term.write(word)
      end
    end
  end
  return lines
end

function print(...)
  local lines = 0
  local count = select("#", ...)
  for n = 1, count do
    local text = tostring((select(n, ...)))
    if n < count then text = text .. "\t" end
    lines = lines + write(text)
  end
  return lines + write("\n")
end

function printError(...)
  local before
  if term.isColour() then
    before = term.getTextColour()
    term.setTextColour(colours.red)
  end
  print(...)
  if before then term.setTextColour(before) end
end

function loadfile(path, mode, environment)
  if type(mode) == "table" and environment == nil then mode, environment = nil, mode end
  expect(1, path, "string")
  expect(2, mode, "string", "nil")
  expect(3, environment, "table", "nil")
  local file = fs.open(path, "rb")
  if not file then return nil, "File not found" end
  local source = file.readAll() or ""
  file.close()
  return load(source, "@/" .. fs.combine(path), mode, environment or _G)
end

function dofile(path)
  expect(1, path, "string")
  local chunk, problem = loadfile(path)
  if not chunk then error(problem, 0) end
  return chunk()
end

---------------------------------------------------------------- APIs

for _, name in ipairs {
  "colors", "term", "keys", "fs", "io", "read", "utf8", "textutils", "json", "settings", "window", "parallel",
  "paintutils", "peripherals", "redstone", "vector", "rednet", "gps", "handles", "http", "devices",
} do
  embedded("apis/" .. name .. ".lua", native)
end

---------------------------------------------------------------- go

local ok, problem = pcall(parallel.waitForAny,
  function()
    _G._SIMULATOR = { program = system.program, state = system.programState }
    local tabs = term.isColour() and settings.get("bios.use_multishell")
    os.run({}, tabs and "rom/programs/advanced/multishell.lua" or "rom/programs/shell.lua")
    os.run({}, "rom/programs/shutdown.lua")
  end,
  function() rednet.run() end)

term.redirect(term.native())
if not ok then printError(problem) end
pcall(function()
  term.setCursorBlink(false)
  print("Press any key to continue")
  os.pullEvent("key")
end)
os.shutdown()
