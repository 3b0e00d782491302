--- One request that runs user code: a coroutine with its own environment, output, terminal and event filter.

local describe = require("mcp-computer.describe")
local environment = require("mcp-computer.environment")
local guard = require("mcp-computer.guard")
local output = require("mcp-computer.output")

local byte, find = string.byte, string.find
local create, resume, status = coroutine.create, coroutine.resume, coroutine.status
local load, pcall, select, setmetatable, type, xpcall = load, pcall, select, setmetatable, type, xpcall
local unpack = table.unpack or unpack
local term_current, term_redirect = term.current, term.redirect
local globals = _G

local job = {}
job.__index = job

-- How the code is called in its errors: `exec-lua:1: ...`.
local CHUNK = "exec-lua"
-- The first byte of compiled Lua, which is not accepted.
local BINARY_MARK = 27

local YIELD_HINT = "The game stops code that runs for about 7 seconds without yielding. Yield now and then: sleep(0), "
  .. "or os.queueEvent(\"x\") os.pullEvent(\"x\") where a tick is too long."

local OVERFLOW_HINT = "Most likely the stack overflowed: a function that calls itself without end."

local function pack(...)
  return { n = select("#", ...), ... }
end

-- An expression, or else statements; the statements' error counts.
local function compile(code, env)
  if byte(code, 1) == BINARY_MARK then return nil, CHUNK .. ":1: compiled Lua is not accepted" end
  local chunk = load("return " .. code, "=" .. CHUNK, "t", env)
  if chunk then return chunk end
  return load(code, "=" .. CHUNK, "t", env)
end

-- Globals that only some computers have, and what to say where they lack.
local PARTIAL_GLOBALS = {
  turtle = "Only turtles have `turtle`; this computer isn't one.",
  pocket = "Only pocket computers have `pocket`; this computer isn't one.",
  commands = "Only command computers have `commands`; this computer isn't one.",
  multishell = "Only advanced computers have `multishell`.",
  http = "The HTTP API is off on this computer.",
}

local function hint_for(message, code)
  if guard.is_abort(message) then return YIELD_HINT end
  if not find(message, "attempt to", 1, true) or not find(message, "nil", 1, true) then return nil end
  for name, hint in next, PARTIAL_GLOBALS do
    if globals[name] == nil and find(message, "'" .. name .. "'", 1, true) then return hint end
  end
  if find(code, "peripheral%.wrap") or find(code, "peripheral%.find") then
    return "peripheral.wrap and peripheral.find return nil when there is no such peripheral; peripheral.getNames() "
      .. "lists those there are."
  end
  return nil
end

-- What the job's coroutine runs: the code, then the description of what came of it, so that values made to be hostile
-- meet the same limits as the code.
local function body(self, chunk)
  local results = pack(xpcall(chunk, function(thrown)
    local trace = guard.traceback(CHUNK)
    return { thrown = thrown, traceback = trace }
  end))
  if results[1] then
    self.outcome = { ok = true, returns = describe.values(results, 2) }
    return
  end
  local caught = results[2]
  if type(caught) == "table" then
    self:fail(describe.error_text(caught.thrown), caught.traceback)
  else -- the handler had no stack left to run on
    self:fail(describe.error_text(caught))
    self.outcome.hint = self.outcome.hint or OVERFLOW_HINT
  end
end

--- Makes a job; nothing of it runs before the first @{job:resume}.
-- @param id Its request's.
-- @tparam string code
-- @tparam table options `program` (see @{environment.new}); `on_halt(job, name)`: called before the computer halts.
-- @treturn job
function job.new(id, code, options)
  local self = setmetatable({
    id = id,
    code = code,
    output = output.new(),
    filter = nil,            -- the only event it waits for
    outcome = nil,           -- once it has ended: {ok, returns} or {ok, kind, message, traceback, hint}
    terminal = term_current(),
  }, job)
  local env = environment.new({
    output = self.output,
    program = options.program,
    on_halt = function(name) options.on_halt(self, name) end,
  })
  local chunk, problem = compile(code, env)
  if chunk then
    self.thread = create(function() body(self, chunk) end)
  else
    self.outcome = { ok = false, kind = "syntax", message = describe.error_text(problem) }
  end
  return self
end

--- Ends the job's story with a failure.
-- @tparam string message
-- @tparam[opt] string traceback
function job:fail(message, traceback)
  self.outcome = {
    ok = false,
    kind = guard.is_abort(message) and "timeout" or "runtime",
    message = message,
    traceback = traceback,
    hint = hint_for(message, self.code),
  }
end

--- Whether the job waits for this event.
-- @tparam string name
-- @treturn boolean
function job:wants(name)
  return self.filter == nil or self.filter == name
end

--- Runs the job until it yields or ends, on the terminal it last used.
-- @tparam[opt] table event Packed, with its length in `n`; none at the start.
function job:resume(event)
  local agent_terminal = term_current()
  if self.terminal ~= agent_terminal then pcall(term_redirect, self.terminal) end
  local ok, yielded
  if event then
    ok, yielded = resume(self.thread, unpack(event, 1, event.n))
  else
    ok, yielded = resume(self.thread)
  end
  self.terminal = term_current()
  if self.terminal ~= agent_terminal then pcall(term_redirect, agent_terminal) end
  self.filter = type(yielded) == "string" and yielded or nil
  if not ok then
    -- The code was stopped while its results were being described.
    self:fail(describe.error_text(yielded))
  elseif status(self.thread) == "dead" and not self.outcome then
    self:fail("the job ended without a result")
  end
end

return job
