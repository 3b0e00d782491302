--- install: puts mcp-computer onto this computer, from the bridge that served this program.
--
-- In the game: wget run http://HOST:3001/install.lua [--startup|--no-startup]

-- The bridge fills in its own address when it serves this program.
local DEFAULT_URL = nil

local autostart = require("mcp-computer.autostart")
local installation = require("mcp-computer.installation")
local presence = require("mcp-computer.presence")

-- What may stand behind its address: whether the agent is to start with the computer. The last one is for the startup
-- file: only to fetch the agent.
local STARTUP = { ["--startup"] = true, startup = true, ["--no-startup"] = false }
local REPAIR = "--repair"

if not DEFAULT_URL then
  error("Run this from a bridge: wget run http://HOST:3001/install.lua", 0)
end
local option = ...
if option ~= nil and option ~= REPAIR and STARTUP[option] == nil then
  error(("Usage: wget run %s [--startup|--no-startup]"):format(installation.page(DEFAULT_URL, "/install.lua")), 0)
end

local name = "install " .. os.epoch("utc")
local running = presence.ask(name)
local program = installation.put({
  source = installation.fetch(DEFAULT_URL), running = running, name = name, address = DEFAULT_URL,
  is_new = option ~= REPAIR,
})
if option == REPAIR then return end

-- A program that runs this answers no questions: it may be a bridge that updates the agent.
local startup = STARTUP[option]
if startup ~= nil or not running then
  installation.finish({ program = program, address = DEFAULT_URL, startup = startup })
end
if not running then
  installation.start(program, shell)
elseif not autostart.find() then
  print("It does not start with this computer. If it is to: mcp-computer install")
end
if running and not running.path then
  print("One runs here already: end it with Ctrl+T, then start this one with: mcp-computer")
end
