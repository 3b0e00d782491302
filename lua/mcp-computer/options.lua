--- The command line.

local policy = require("mcp-computer.policy")

local find, format, match, sub = string.find, string.format, string.match, string.sub

local options = {}

local ACTIONS = {
  help = "help", ["-help"] = "help", ["--help"] = "help", ["-h"] = "help",
  version = "version", ["-version"] = "version", ["--version"] = "version",
}
local STATUS_LINE = "status-line"
-- What may stand first, instead of an address.
local COMMANDS = {
  doctor = true, install = true, pause = true, resume = true, status = true, [STATUS_LINE] = true, stop = true,
  uninstall = true, update = true,
}
local SWITCHES = { on = true, off = true }
local VALUES = {
  ["-url"] = "url", ["--url"] = "url",
  ["-token"] = "token", ["--token"] = "token",
  ["--run"] = "run", -- for the startup file: a program of the player's, to be run in the hosted shell
  ["-policy"] = "policy", ["--policy"] = "policy",
}
-- Flags that stand for a policy.
local POLICIES = { ["-read-only"] = policy.READ_ONLY, ["--read-only"] = policy.READ_ONLY }
local TWO_POLICIES = "One policy is enough: two different ones were given"
-- What stands for itself: its key, and its value.
local FLAGS = {
  -- For the startup file: the shell is the computer's first one.
  ["--greet"] = { "greets", true },
  ["--startup"] = { "startup", true }, ["--no-startup"] = { "startup", false },
  ["--yes"] = { "is_sure", true }, ["-y"] = { "is_sure", true },
  ["-shell"] = { "shell", true }, ["--shell"] = { "shell", true },
  ["-status-line"] = { "status_line", true }, ["--status-line"] = { "status_line", true },
}

--- How the program is called.
-- @tparam string program Its name.
-- @treturn {string,...} Lines.
function options.usage(program)
  return {
    "Usage:",
    program .. " [--shell] <ws-url>",
    program .. " install [<ws-url>] [--startup|--no-startup]",
    program .. " status|update|uninstall|doctor",
    program .. " stop|pause|resume|status-line on",
    program .. " --version",
    "For example:",
    program .. " ws://192.168.1.20:3001",
    "--shell runs it beside your shell, until `stop`.",
    "If the bridge wants a token: --token <token>, or once: set mcp_computer.token <token>",
    "What bridges may do: --policy full (the default), ask (you are asked each time) or read-only (nothing of theirs "
      .. "runs), or once: set mcp_computer.policy ask",
  }
end

--- Reads the arguments.
-- @tparam {string,...} args
-- @treturn table|nil `action` (`run`, `help`, `version` or a command), `url`, `token`, `policy`, `startup`, `is_sure`,
--   `shell`, `status_line`, `greets`, `run`; `switch`: `on` or `off`.
-- @treturn string|nil What is wrong with them.
function options.parse(args)
  local result = { action = "run" }
  local i = 1
  while i <= #args do
    local arg = args[i]
    local name, value = match(arg, "^(%-%-?%a+)=(.*)$")
    local key = VALUES[name or arg]
    if ACTIONS[arg] then
      return { action = ACTIONS[arg] }
    elseif COMMANDS[arg] and i == 1 then
      result.action = arg
    elseif result.action == STATUS_LINE and SWITCHES[arg] then
      result.switch = arg
    elseif POLICIES[arg] then
      if result.policy and result.policy ~= POLICIES[arg] then return nil, TWO_POLICIES end
      result.policy = POLICIES[arg]
    elseif FLAGS[arg] then
      result[FLAGS[arg][1]] = FLAGS[arg][2]
    elseif key then
      if not name then
        i = i + 1
        value = args[i]
      end
      if not value or value == "" or not name and find(value, "^%-") then
        return nil, format("%s must be followed by its value", name or arg)
      end
      if key == "policy" then
        if not policy.is_known(value) then
          return nil, format("%s must be %s, not %s", name or args[i - 1], policy.CHOICE, value)
        end
        if result.policy and result.policy ~= value then return nil, TWO_POLICIES end
      end
      result[key] = value
    elseif sub(arg, 1, 1) == "-" then
      return nil, format("Unknown option %s", arg)
    elseif result.url then
      return nil, format("One URL is enough: %s is a second one", arg)
    else
      result.url = arg
    end
    i = i + 1
  end
  return result
end

return options
