--- What catches errors, as a job has it: the game's own stop ("Too long without yielding") passes it, and where an
-- error came from is known however it came.
--
-- The game throws that stop once into code that runs for seven seconds without yielding, and powers the computer off
-- if it then does not yield either: code that catches errors in a loop would take the agent down with it. In a job,
-- what catches errors hands this one on.

local find, gmatch, match, sub = string.find, string.gmatch, string.match, string.sub
local concat = table.concat
local error, format, next, rawequal = error, string.format, next, rawequal
local select, type = select, type
local real_pcall, real_xpcall, real_resume = pcall, xpcall, coroutine.resume
local create = coroutine.create
local coroutine_library = coroutine
local traceback = debug and debug.traceback
local getinfo = debug and debug.getinfo

local guard = {}

-- What the game says of an error whose handler could not run; ours has no other reason than a stack that is full.
local NO_ROOM_FOR_HANDLER, OVERFLOW = "error in error handling", "stack overflow"

local function pack(...)
  return { n = select("#", ...), ... }
end

local ABORT = "Too long without yielding"
-- A longer traceback is cut at this many bytes.
local TRACEBACK_LIMIT = 8 * 1024
-- The stack level, as `guard.traceback` sees it, of what called its caller.
local CALLER_OF_HANDLER = 3

-- The first line of a traceback.
local TITLE = "stack traceback:"
-- Between two functions in a traceback: the one beneath took the place of others.
local TAIL_CALLS = "(...tail calls...)"

-- The error that last came out of a coroutine of `coroutine.wrap`, until something has caught it: {value, trace}.
local passed

-- The folder of the agent's modules, as tracebacks name it: the agent's own frames are left out of them. The game names
-- programs by their files otherwise, without a folder or from the root on.
local own_folder = getinfo and match(getinfo(1, "S").short_src, "^.*/")

--- Whether an error is the game's stop.
-- @param thrown
-- @treturn boolean
function guard.is_abort(thrown)
  return type(thrown) == "string" and find(thrown, ABORT, 1, true) ~= nil
end

--- Stops code as the game would.
-- @tparam number level Which caller the error names, as for `error`.
function guard.abort(level)
  error(ABORT, level + 1)
end

-- Hands results on, but throws an abort again.
local function pass(ok, ...)
  if not ok then
    if guard.is_abort((...)) then error((...), 0) end
    passed = nil
  end
  return ok, ...
end

--- `pcall`, for the job's own code and for what is done with its values.
function guard.pcall(...)
  return pass(real_pcall(...))
end

-- What a handler returns, or an abort that was thrown into it.
local function handled(ok, ...)
  if not ok and not guard.is_abort((...)) then error((...), 0) end
  return ...
end

-- What a handler makes of an error is all that `xpcall` returns of it, so no handler gets to see an abort, and none may
-- fail of one, of which the game would say only that something failed. `debug.traceback` keeps the message anyway; it
-- is left as it is, since it shows where it was called from.
local function guarded_xpcall(run, handler, ...)
  if type(handler) ~= "function" or handler == traceback then return pass(real_xpcall(run, handler, ...)) end
  return pass(real_xpcall(run, function(thrown, ...)
    if guard.is_abort(thrown) then return thrown end
    return handled(real_pcall(handler, thrown, ...))
  end, ...))
end

local function guarded_resume(...)
  return pass(real_resume(...))
end

-- Whether two errors are one. CraftOS-PC crashes where `rawequal` is given a string that was put together.
local function is_same(a, b)
  if type(a) == "string" or type(b) == "string" then return a == b end
  return rawequal(a, b)
end

-- What a coroutine has yielded or returned, or the error it ended with: thrown anew, with what its stack shows noted.
local function hand_out(thread, ok, ...)
  if ok then return ... end
  local value, trace = (...), traceback and traceback(thread)
  if type(trace) ~= "string" then trace = "" end
  if passed and is_same(passed.value, value) then trace = passed.trace .. "\n" .. trace end
  passed = { value = value, trace = trace }
  error(value, 0)
end

-- The game's own lets an error through as it is. Its traceback is that of the coroutine, which has ended; and before
-- 1.104 no handler of an `xpcall` further out is told of it.
local function guarded_wrap(f)
  if type(f) ~= "function" then error(format("bad argument #1 (function expected, got %s)", type(f)), 2) end
  local thread = create(f)
  return function(...) return hand_out(thread, real_resume(thread, ...)) end
end

--- Puts guarded `pcall`, `xpcall` and `coroutine` into a job's environment.
-- @tparam table env
function guard.install(env)
  env.pcall = guard.pcall
  env.xpcall = guarded_xpcall
  local library = {}
  for name, value in next, coroutine_library do library[name] = value end
  library.resume, library.wrap = guarded_resume, guarded_wrap
  env.coroutine = library
end

local function is_own_frame(line)
  local at = find(line, "%S")
  return own_folder ~= nil and at ~= nil and sub(line, at, at + #own_folder - 1) == own_folder
end

-- Appends a traceback's lines to others, without its title and the agent's own frames, and what these have called.
local function append_frames(lines, trace)
  local was_own = false
  for line in gmatch(trace, "[^\n]+") do
    local is_between = find(line, TAIL_CALLS, 1, true) ~= nil
    if not is_between then was_own = is_own_frame(line) end
    if not was_own and line ~= TITLE then lines[#lines + 1] = line end
    if was_own and find(lines[#lines], "^%s*%[C%]:") then lines[#lines] = nil end
  end
end

--- Where an error was thrown, without the agent's own frames. To be called by an error handler, directly.
-- @tparam string chunk The name of the job's chunk: the frames beneath its last one are the agent's.
-- @param thrown The error.
-- @treturn string|nil Nil if there is no `debug`, or no frame of the chunk.
function guard.traceback(chunk, thrown)
  if not traceback then return nil end
  local trace = traceback("", CALLER_OF_HANDLER)
  if type(trace) ~= "string" then return nil end
  local lines = { TITLE }
  if passed and is_same(passed.value, thrown) then append_frames(lines, passed.trace) end
  passed = nil
  append_frames(lines, trace)
  local last = 0
  for i = 1, #lines do
    if find(lines[i], chunk .. ":", 1, true) then last = i end
  end
  if last == 0 then return nil end
  return sub(concat(lines, "\n", 1, last), 1, TRACEBACK_LIMIT)
end

--- Calls a function, and takes note of where it throws.
-- @tparam string chunk See @{guard.traceback}.
-- @tparam function f
-- @treturn table What `xpcall` returns, packed, with its length in `n`.
-- @return What was thrown, if something was.
-- @treturn string|nil Where.
function guard.run(chunk, f)
  local thrown, trace
  local was_told = false
  local results = pack(real_xpcall(f, function(value)
    -- First of all, since what follows may fail, on a stack or in a memory that is full.
    thrown, was_told = value, true
    trace = guard.traceback(chunk, value)
  end))
  -- The game doesn't tell the handler of everything: before 1.104 not of an error that has come out of a coroutine,
  -- before 1.109.4 not of a stack that is full, and CraftOS-PC not of a memory that is.
  if not results[1] and not was_told then
    thrown = results[2]
    if thrown == NO_ROOM_FOR_HANDLER then thrown = OVERFLOW end
  end
  return results, thrown, trace
end

return guard
