--- The globals that a job's code sees: everything the computer has, with its own `print`, and its writes kept apart.

local guard = require("mcp-computer.guard")
local input = require("mcp-computer.input")

local find, format, gsub = string.find, string.format, string.gsub
local concat = table.concat
local error, next, pcall, select, setmetatable = error, next, pcall, select, setmetatable
local tostring, type = tostring, type
local globals = _G

local environment = {}

local function line_breaks(s)
  if not find(s, "\n", 1, true) then return 0 end
  local _, count = gsub(s, "\n", "")
  return count
end

-- What `print` shows of several arguments, or of one that is no string.
local function joined(count, ...)
  local parts = {}
  for i = 1, count do parts[i] = tostring((select(i, ...))) end
  return concat(parts, "\t")
end

-- `print`, `write` and `printError`, into the job's output instead of onto the screen. As the game's own, they return
-- how many lines they went down.
local function install_printing(env, output, on_much)
  local function print_line(...)
    local line, count = (...), select("#", ...)
    if count ~= 1 or type(line) ~= "string" then line = joined(count, ...) end
    if output:write(line .. "\n") then on_much() end
    return line_breaks(line) + 1
  end
  env.print = print_line
  env.printError = print_line
  function env.write(value)
    local kind = type(value)
    if kind ~= "string" and kind ~= "number" then
      error(format("bad argument #1 (expected string or number, got %s)", kind), 2)
    end
    local piece = tostring(value)
    if output:write(piece) then on_much() end
    return line_breaks(piece)
  end
end

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
--   `output`: where what is printed goes; `on_much()`: called when its `write` returns true; `program`: the globals
--   that belong to the agent's program (`shell`, `multishell`, `require`, `package`); `on_halt(name)`: called before
--   the computer reboots or shuts down.
-- @treturn table
function environment.new(options)
  local env = {}
  setmetatable(env, { __index = globals })
  env._G = env
  install_program_globals(env, options.program)
  install_printing(env, options.output, options.on_much)
  install_os(env, options.on_halt)
  guard.install(env)
  return env
end

return environment
