--- mcp-computer: links this computer to an mcp-bridge, so that an MCP client can see and program it.

local VERSION = "1.1.0"
-- The bridge fills in its own address when it serves this program.
local DEFAULT_URL = nil
-- The setting that holds the link's token, if the bridge wants one.
local TOKEN_SETTING = "mcp_computer.token"

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

local setting = require("mcp-computer.setting")
local update = require("mcp-computer.update")

local own_file = update.own_file(shell)
local token = parsed.token or setting.get(TOKEN_SETTING)
token = token and tostring(token)
local chosen_policy, misset = parsed.policy, nil
if not chosen_policy then chosen_policy, misset = require("mcp-computer.policy").of_settings(setting.get) end
-- A program that was installed has the address of that day, and the setting is what was said last; one from the web is
-- told by its own address what is meant now.
local address_text = parsed.url or own_file and setting.get(setting.URL) or DEFAULT_URL or setting.get(setting.URL)
address_text = address_text and tostring(address_text)
if parsed.action == "doctor" then
  require("mcp-computer.doctor").run({ address = address_text, token = token, version = VERSION })
  return
end
local command = require("mcp-computer.manage")[parsed.action]
if command then
  command({
    address = address_text, version = VERSION, own_file = own_file, shell = shell, multishell = multishell,
    startup = parsed.startup, is_sure = parsed.is_sure, policy = chosen_policy or misset,
  })
  return
end
if not address_text then
  print_lines(options.usage(program_name()))
  error("The bridge's URL is missing.", 0)
end
if not chosen_policy then error(misset, 0) end

local url = require("mcp-computer.url")
local address, malformed = url.parse(address_text)
if not address then error(malformed, 0) end

local advice = require("mcp-computer.advice")
if not http then error(table.concat(advice.http_off(), "\n"), 0) end
if not http.websocketAsync then error(table.concat(advice.websockets_off(), "\n"), 0) end

local presence = require("mcp-computer.presence")

-- Why the last new version is not taken, if one was tried.
local not_taken

-- What another agent is told that is started on this computer.
local function about()
  return { version = VERSION, tab = multishell and multishell.getCurrent(), path = own_file, not_taken = not_taken }
end

local other = presence.ask(require("mcp-computer.identity").draw_boot(), about())
if other then error(presence.words(other), 0) end

local agent = require("mcp-computer.agent")
print(("mcp-computer v%s connecting to %s"):format(VERSION, address_text))
local program = { shell = shell, multishell = multishell, require = require, package = package }

-- Serves until it ends. Returns the source of a new version, if one is to take its place.
local function serve()
  return agent.new({
    address = address,
    version = VERSION,
    token = token,
    policy = chosen_policy,
    program = program,
    about = about,
  }):run()
end

repeat
  local new_version = { source = serve(), path = own_file, arg = arg or {}, program = program }
  not_taken = new_version.source and update.try(new_version)
  if not_taken then
    printError("The new version is not taken: " .. not_taken)
    print(("mcp-computer v%s goes on."):format(VERSION))
  end
until not not_taken
