--- The game's own stop ("Too long without yielding"), made uncatchable.
--
-- The game throws that error once into code that runs for seven seconds without yielding, and powers the computer off
-- if it then does not yield either: code that catches errors in a loop would take the agent down with it. In a job,
-- what catches errors hands this one on.

local find, gmatch, sub = string.find, string.gmatch, string.sub
local concat = table.concat
local error, next, type = error, next, type
local real_pcall, real_xpcall, real_resume = pcall, xpcall, coroutine.resume
local coroutine_library = coroutine
local traceback = debug and debug.traceback
local getinfo = debug and debug.getinfo

local guard = {}

local ABORT = "Too long without yielding"
-- A longer traceback is cut at this many bytes.
local TRACEBACK_LIMIT = 8 * 1024
-- The stack level, as `guard.traceback` sees it, of what called its caller.
local CALLER_OF_HANDLER = 3

-- As tracebacks name the file this is in: the agent's own frames are left out of them.
local own_name = getinfo and getinfo(1, "S").short_src

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
  if not ok and guard.is_abort((...)) then error((...), 0) end
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

--- Puts guarded `pcall`, `xpcall` and `coroutine` into a job's environment.
-- @tparam table env
function guard.install(env)
  env.pcall = guard.pcall
  env.xpcall = guarded_xpcall
  local library = {}
  for name, value in next, coroutine_library do library[name] = value end
  library.resume = guarded_resume
  env.coroutine = library
end

local function is_own_frame(line)
  local at = find(line, "%S")
  return own_name ~= nil and at ~= nil and sub(line, at, at + #own_name) == own_name .. ":"
end

--- Where an error was thrown, without the agent's own frames. To be called by an error handler, directly.
-- @tparam string chunk The name of the job's chunk: the frames beneath its last one are the agent's.
-- @treturn string|nil Nil if there is no `debug`, or no frame of the chunk.
function guard.traceback(chunk)
  if not traceback then return nil end
  local trace = traceback("", CALLER_OF_HANDLER)
  if type(trace) ~= "string" then return nil end
  local lines, last = {}, 0
  for line in gmatch(trace, "[^\n]+") do
    if not is_own_frame(line) then
      lines[#lines + 1] = line
      if find(line, chunk .. ":", 1, true) then last = #lines end
    end
  end
  if last == 0 then return nil end
  return sub(concat(lines, "\n", 1, last), 1, TRACEBACK_LIMIT)
end

return guard
