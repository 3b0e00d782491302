--- The globals that a job's code sees: everything the computer has, and its writes kept apart.

local guard = require("mcp-computer.guard")
local input = require("mcp-computer.input")

local next, pcall, setmetatable, type = next, pcall, setmetatable, type
local globals = _G

local environment = {}

-- `os.reboot` and `os.shutdown` never return: the answer has to leave before. Input that code queues is its own.
local function install_os(env, on_halt)
  local library = {}
  for name, value in next, globals.os do library[name] = value end
  for _, name in next, { "reboot", "shutdown" } do
    local halt = library[name]
    library[name] = function(...)
      on_halt("os." .. name)
      return halt(...)
    end
  end
  library.queueEvent = input.queue
  env.os = library
end

-- What the shell gives to programs and `_G` lacks.
local function install_program_globals(env, program)
  env.shell, env.multishell = program.shell, program.multishell
  env.require, env.package = program.require, program.package
  env.arg = { [0] = "exec-lua" }
  if not program.require then return end
  local ok, maker = pcall(program.require, "cc.require")
  if not ok or type(maker) ~= "table" or not maker.make then return end
  local made, require_function, package = pcall(maker.make, env, "")
  if made then env.require, env.package = require_function, package end
end

--- Makes a job's environment: it reads through to `_G`, and what is written stays in it.
-- @tparam table options
--   `program`: the globals that belong to the agent's program (`shell`, `multishell`, `require`, `package`);
--   `on_halt(name)`: called before the computer reboots or shuts down.
-- @treturn table
function environment.new(options)
  local env = {}
  setmetatable(env, { __index = globals })
  env._G = env
  install_program_globals(env, options.program)
  install_os(env, options.on_halt)
  guard.install(env)
  return env
end

return environment
