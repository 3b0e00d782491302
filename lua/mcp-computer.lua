--- mcp-computer: links this computer to an mcp-bridge, so that an MCP client can see and program it.

local VERSION = "1.1.0"
-- The bridge fills in its own address when it serves this program.
local DEFAULT_URL = nil
-- The setting that holds the link's token, if the bridge wants one.
local TOKEN_SETTING = "mcp_computer.token"
-- The setting by which the hosted shell has a status line above it.
local STATUS_LINE_SETTING = "mcp_computer.status_line"

local options = require("mcp-computer.options")

local function print_lines(lines)
  for i = 1, #lines do print(lines[i]) end
end

-- How the player called this program; `wget run` puts its own name there.
local function program_name()
  local name = arg and arg[0] and string.match(arg[0], "([^/]+)$")
  if not name or name == "wget" then return "mcp-computer" end
  return (string.gsub(name, "%.lua$", ""))
end

local parsed, problem = options.parse({ ... })
if not parsed then
  print_lines(options.usage(program_name()))
  error(problem, 0)
end
if parsed.action == "help" then
  print_lines(options.usage(program_name()))
  return
end
if parsed.action == "version" then
  print("mcp-computer v" .. VERSION)
  return
end

local control = require("mcp-computer.control")
local identity = require("mcp-computer.identity")
if control.is_said(parsed.action) then
  print(control.say(identity.draw_boot(), parsed.action, parsed.switch))
  return
end

local setting = require("mcp-computer.setting")
local update = require("mcp-computer.update")

local own_file = update.own_file(shell)

-- Whom to link to, and how, by what the program is called with. A program that was installed has the address of that
-- day, and the setting is what was said last; one from the web is told by its own address what is meant now.
local function chosen_by(given)
  local token = given.token or setting.get(TOKEN_SETTING)
  local text = given.url or own_file and setting.get(setting.URL) or DEFAULT_URL or setting.get(setting.URL)
  local policy, misset = given.policy, nil
  if not policy then policy, misset = require("mcp-computer.policy").of_settings(setting.get) end
  return { text = text and tostring(text), token = token and tostring(token), policy = policy, misset = misset }
end

local chosen = chosen_by(parsed)
if parsed.action == "doctor" then
  require("mcp-computer.doctor").run({ address = chosen.text, token = chosen.token, version = VERSION })
  return
end
local command = require("mcp-computer.manage")[parsed.action]
if command then
  command({
    address = chosen.text, version = VERSION, own_file = own_file, shell = shell,
    startup = parsed.startup, is_sure = parsed.is_sure, policy = chosen.policy or chosen.misset,
  })
  return
end
if not chosen.text then
  print_lines(options.usage(program_name()))
  error("The bridge's URL is missing.", 0)
end

local url = require("mcp-computer.url")

-- Reads the policy and the address. Throws what is wrong with them.
local function made_out(of)
  local malformed
  if not of.policy then error(of.misset, 0) end
  of.address, malformed = url.parse(of.text)
  if not of.address then error(malformed, 0) end
  return of
end

made_out(chosen)

local advice = require("mcp-computer.advice")
if not http then error(table.concat(advice.http_off(), "\n"), 0) end
if not http.websocketAsync then error(table.concat(advice.websockets_off(), "\n"), 0) end

local presence = require("mcp-computer.presence")

-- Why the last new version is not taken, if one was tried.
local not_taken

-- An older version of this program that hosts the player's shell, and has been updated to this one, gives this.
local host = mcp_computer_host -- luacheck: globals mcp_computer_host
if type(host) ~= "table" or type(host.providers) ~= "table" then host = nil end

-- What another agent is told that is started on this computer.
local function about()
  return {
    version = VERSION, tab = not host and multishell and multishell.getCurrent() or nil, path = own_file,
    not_taken = not_taken, hosts = host ~= nil or nil,
  }
end

local name = identity.draw_boot()
local other, ended = presence.ask(name, about())
if other then error(presence.words(other), 0) end
if ended then
  local is_done, said = control.start(name, { ... })
  if not is_done then error(said, 0) end
  print(said)
  return
end

local agent = require("mcp-computer.agent")
local program = { shell = shell, multishell = multishell, require = require, package = package }

-- Serves until it ends. Returns the source of a new version, if one is to take its place.
local function serve()
  return agent.new({
    address = chosen.address,
    version = VERSION,
    token = chosen.token,
    policy = chosen.policy,
    program = program,
    about = about,
    host = host,
  }):run()
end

-- Serves, and lets a new version take its place where one comes.
local function serve_and_update()
  repeat
    local new_version = { source = serve(), path = own_file, arg = arg or {}, program = program, host = host }
    not_taken = new_version.source and update.try(new_version)
    if not_taken and not host then
      printError("The new version is not taken: " .. not_taken)
      print(("mcp-computer v%s goes on."):format(VERSION))
    end
  until not not_taken
end

if not parsed.shell or host then
  if not host then print(("mcp-computer v%s connecting to %s"):format(VERSION, chosen.text)) end
  return serve_and_update()
end

local hosting = require("mcp-computer.hosting").new({
  program = program,
  version = VERSION,
  greets = parsed.greets,
  has_line = (parsed.status_line or setting.get(STATUS_LINE_SETTING)) and true or false,
})
host = hosting:handle()
-- A program of the player's that did not let the agent start before.
if parsed.run then
  hosting:press(nil, "paste", parsed.run)
  hosting:press(nil, "key", keys.enter, false)
end
hosting:run(function(arguments)
  if arguments then chosen = made_out(chosen_by(assert(options.parse(arguments)))) end
  serve_and_update()
end)
