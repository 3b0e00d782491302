-- Hosts a shell with an agent that looks at its screens, and reports to /report.txt. Its modules are files beside it.
-- luacheck: std +lua53, ignore 122

local hosting = require("mcp-computer.hosting")
local screens = require("mcp-computer.screens")

-- A monitor such as the game has, but that it can be read: what is drawn on it is what is recorded.
local real = window.create(term.current(), 1, 1, 20, 5, false)
peripheral.getNames = function() return { "top" } end
peripheral.getType = function(name) return name == "top" and "monitor" or nil end
peripheral.call = function(name, method, ...)
  if name ~= "top" then return nil end
  if method == "setTextScale" then return real.reposition(1, 1, 40, 10) end
  return assert(real[method], "No such method " .. method)(...)
end

local report = assert(fs.open("/report.txt", "w"))
local function say(...)
  report.writeLine(table.concat({ ... }, " "))
  report.flush()
end

local function text_of(screen)
  local lines = {}
  local _, height = screen.size()
  for row = 1, height do lines[row] = ((screen.line(row)):gsub("%s+$", "")) end
  return (table.concat(lines, "/"):gsub("/+$", ""))
end

-- Waits until a screen shows this.
local function until_shows(target, pattern)
  while true do
    local screen = screens.find(target)
    if screen and text_of(screen):find(pattern) then return screen end
    os.startTimer(0.05)
    os.pullEventRaw("timer")
  end
end

local function keys_of(target, line)
  local screen = assert(screens.find(target))
  for letter in line:gmatch(".") do assert(screen.press("char", letter)) end
  assert(screen.press("key", keys.enter, false))
end

local host = hosting.new({ program = { shell = shell, multishell = multishell }, version = "0" })
local handle = host:handle()

host:run(function()
  for kind, provider in pairs(handle.providers) do screens.provide(kind, provider) end
  local terminal = until_shows("terminal", ">$")
  say("names", table.concat(screens.names(), ", "))
  local none, why = screens.find("top")
  say("unseen", tostring(none), tostring(why ~= nil))
  say("absent", tostring((screens.find("nothing"))))

  local version = terminal.version
  keys_of("terminal", "draw")
  until_shows("terminal", "drawn")
  assert(terminal.version > version, "the version stayed")
  local monitor = assert(screens.find("top"))
  say("monitor", text_of(monitor), tostring(monitor.partial), monitor.size())
  say("behind", (select(3, monitor.line(2)):sub(1, 4)))
  local same = true
  for row = 1, 10 do
    for n = 1, 3 do same = same and select(n, monitor.line(row)) == select(n, real.getLine(row)) end
  end
  say("as it is", tostring(same))

  if not multishell then
    say("tab", tostring((screens.find("tab 1"))))
  else
    keys_of("terminal", "bg waits")
    until_shows("tab 2", "waiting")
    say("names", table.concat(screens.names(), ", "))
    say("front", (text_of(screens.find("tab 1")):match("draw")))
    assert(screens.find("tab 2").press("mouse_click", 1, 3, 4))
    keys_of("tab 2", "x")
    local tab = until_shows("tab 2", "done")
    say("tab", (text_of(tab):gsub("/", " ")))
    say("front still", tostring(text_of(screens.find("terminal")):find("waiting") == nil))
  end
  say("end")
  while true do os.pullEventRaw() end
end)
