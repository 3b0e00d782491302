--- What the programs of the hosted shell died of: which one, its message, where it came from, and when.
--
-- The game's shell says it on the screen and forgets it. From 1.103 on (1.101.3 too) it runs a program as a coroutine
-- of its own, before in `os.run`. It finds both, and `load`, in its environment: there stand ours, for it alone.

local concat, remove = table.concat, table.remove
local find, gmatch, gsub, sub = string.find, string.gmatch, string.gsub, string.sub
local error, getmetatable, pcall, rawget, select, setmetatable, tostring, type, xpcall =
  error, getmetatable, pcall, rawget, select, setmetatable, tostring, type, xpcall
local create, resume = coroutine.create, coroutine.resume
local traceback = debug and debug.traceback
local epoch = os.epoch
local unpack = table.unpack or unpack
local globals = _G
local game_run = os.run

local errors = {}

--- How many are kept.
errors.LIMIT = 50

-- Bytes of each.
local PROGRAM_LIMIT, MESSAGE_LIMIT, TRACEBACK_LIMIT = 200, 1000, 3000
-- What the player does, not the program.
local TERMINATED = "Terminated"
-- Between two functions in a traceback: the one beneath took the place of others.
local TAIL_CALLS = "(...tail calls...)"
-- The shell's own program, which runs others.
local SHELL = "rom/programs/shell.lua"

local kept = {}

-- The lines of a traceback that are the program's: what stands beneath is the shell's, or ours.
local function own_lines(trace)
  if type(trace) ~= "string" then return nil end
  local lines = {}
  for line in gmatch(trace, "[^\n]+") do
    if find(line, "mcp-computer/", 1, true) or find(line, "in function 'xpcall'", 1, true)
      or find(line, "cc/internal/exception.lua", 1, true) then break end
    if not find(line, "^stack traceback:") then lines[#lines + 1] = (gsub(line, "^%s+", "")) end
  end
  if lines[#lines] == TAIL_CALLS then lines[#lines] = nil end
  return #lines > 0 and sub(concat(lines, "\n"), 1, TRACEBACK_LIMIT) or nil
end

local function note(path, message, trace)
  local text = tostring(message)
  -- What our own program says is no fault of the player's.
  if message == nil or text == "" or find(text, TERMINATED .. "$") or find(path, "mcp%-computer%.lua$") then return end
  kept[#kept + 1] = {
    -- In CraftOS-PC `sub` alone would keep all of it.
    program = concat({ "/", sub(path, 1, PROGRAM_LIMIT) }),
    message = concat({ sub(text, 1, MESSAGE_LIMIT) }),
    traceback = own_lines(trace),
    at = epoch("utc"),
  }
  if #kept > errors.LIMIT then remove(kept, 1) end
end

--- @treturn {table,...} The last ones, oldest first: `program`, `message`, `traceback` or nil, `at` in milliseconds.
function errors.list()
  local copy = {}
  for i = 1, #kept do copy[i] = kept[i] end
  return copy
end

-- What the game's newer exceptions are: a message, and the coroutine where it was thrown.
local function parts_of(problem, thread)
  local meta = type(problem) == "table" and getmetatable(problem)
  if type(meta) ~= "table" or rawget(meta, "__name") ~= "exception" then return problem, thread end
  local inner = rawget(problem, "thread")
  return rawget(problem, "message"), type(inner) == "thread" and inner or thread
end

local function trace_of(thread)
  local ok, trace = pcall(traceback or error, thread)
  return ok and trace or nil
end

-- The shell's `coroutine`, and its `load`: the coroutines of the programs that it loads are known by them.
local function new_coroutines()
  local paths = setmetatable({}, { __mode = "k" })   -- of programs' functions, and of their coroutines
  local library = setmetatable({}, { __index = function(_, name) return globals.coroutine[name] end })

  function library.create(f)
    local thread = create(f)
    paths[thread] = paths[f]
    return thread
  end

  local function seen(path, thread, ok, problem, ...)
    if not ok then
      local message, where = parts_of(problem, thread)
      note(path, message, trace_of(where))
    end
    return ok, problem, ...
  end

  function library.resume(thread, ...)
    local path = paths[thread]
    if not path then
      -- From 1.115 on the coroutine begins with a function of the game's, which is given the program.
      local program = select(2, ...)
      if type(program) == "function" then path = paths[program] end
      if not path then return resume(thread, ...) end
      paths[thread] = path
    end
    return seen(path, thread, resume(thread, ...))
  end

  local function load_program(text, name, mode, env)
    local program, problem = globals.load(text, name, mode, env)
    if type(name) == "string" and type(env) == "table" and sub(name, 1, 1) == "@" then
      local path = gsub(name, "^@/*", "")
      if program then
        paths[program] = path
        errors.watch(path, env)
      else
        note(path, problem)
      end
    end
    return program, problem
  end

  return library, load_program
end

-- What the game's `os.run` does, but that it learns of errors where they are thrown.
local function run(env, path, ...)
  -- A program may have put a function of its own in that one's place, which is then asked.
  if type(env) ~= "table" or type(path) ~= "string" or globals.os.run ~= game_run then
    return globals.os.run(env, path, ...)
  end
  local meta = { __index = globals }
  setmetatable(env, meta)
  errors.watch(path, env)
  local settings = globals.settings
  if settings and settings.get("bios.strict_globals") then
    env._ENV = env
    meta.__newindex = function(_, name) error("Attempt to create global " .. tostring(name), 2) end
  end
  -- The older form of the arguments, which all versions take.
  local program, problem = globals.loadfile(path, env)
  if not program then
    note((gsub(path, "^/+", "")), problem)
    if problem and problem ~= "" then globals.printError(problem) end
    return false
  end
  local count, arguments = select("#", ...), { ... }
  local trace
  local ok, thrown = xpcall(function() return program(unpack(arguments, 1, count)) end, function(value)
    trace = traceback and traceback("", 2)
    return value
  end)
  if ok then return true end
  note((gsub(path, "^/+", "")), thrown, trace)
  if thrown and thrown ~= "" then globals.printError(thrown) end
  return false
end

--- Sees to it that what a program's programs die of is noted, if it is the game's shell.
-- @tparam string path The program's.
-- @tparam table env What it is about to be run with.
function errors.watch(path, env)
  if gsub(path, "^/+", "") ~= SHELL then return end
  env.os = setmetatable({ run = run }, { __index = function(_, name) return globals.os[name] end })
  env.coroutine, env.load = new_coroutines()
end

return errors
