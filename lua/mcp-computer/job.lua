--- One request that runs user code: a coroutine with its own environment, output, terminal and event filter.

local chunk = require("mcp-computer.chunk")
local console = require("mcp-computer.console")
local describe = require("mcp-computer.describe")
local environment = require("mcp-computer.environment")
local guard = require("mcp-computer.guard")
local halting = require("mcp-computer.halting")
local helpers = require("mcp-computer.helpers")
local identity = require("mcp-computer.identity")
local json = require("mcp-computer.json")
local present = require("mcp-computer.present")
local printing = require("mcp-computer.printing")
local program = require("mcp-computer.program")

local find = string.find
local create, resume, running = coroutine.create, coroutine.resume, coroutine.running
local status, yield = coroutine.status, coroutine.yield
local error, next, pcall, rawequal = error, next, pcall, rawequal
local setmetatable, type = setmetatable, type
local unpack = table.unpack or unpack
local term_current = term.current
local globals = _G

local job = {}
job.__index = job

-- How code is called in its errors: `exec-lua:1: ...`. A handler has a name of its own.
local CHUNK = "exec-lua"
-- What a job yields to pause: it is resumed without an event. No user code can get hold of it.
local PAUSE = {}
-- A job pauses after this long: while its answer is written, and while its code prints without yielding.
local ANSWERING_SECONDS, PRINTING_SECONDS = 0.005, 0.02
-- The game's limit for code that doesn't yield, which a pause must not lift.
local LIMIT_SECONDS = 7

-- The stack level of what called `print`, as `guard.abort` counts from `give_way`.
local CALLER_OF_PRINT = 4

local YIELD_HINT = "The game stops code that runs for about 7 seconds without yielding. Yield now and then: sleep(0), "
  .. "or os.queueEvent(\"x\") os.pullEvent(\"x\") where a tick is too long."

-- What the game says of code that fills the stack, or the memory. CraftOS-PC has other words.
local OVERFLOWS = { "stack overflow", "StackOverflowError" }
local OUT_OF_MEMORY = { "OutOfMemoryError", "NegativeArraySizeException", "not enough memory" }

local OVERFLOW_HINT = "The stack is full: a function calls itself without end or too deeply, or some call each other."
local MEMORY_HINT = "The code keeps more than there is memory for. Look for a list or a text that grows without end; "
  .. "let go of what is done with, or write it to a file piece by piece."

local EXPIRED_HINT = "It came later than its call could wait, or other jobs kept it waiting. Give the call more time."

-- What of a handler is called: its source, or a function of the table that it returns.
local function call_handler(self, code)
  local handler = self.setup.handler
  local arguments = handler.arguments
  if not handler.method then return code(unpack(arguments, 1, arguments.n)) end
  local exports = code()
  if type(exports) ~= "table" or type(exports[handler.method]) ~= "function" then
    error(self.chunk .. " must return a table with the function '" .. handler.method .. "'", 0)
  end
  return exports[handler.method](unpack(arguments, 1, arguments.n))
end

-- Globals that only some computers have, and what to say where they lack.
local PARTIAL_GLOBALS = {
  turtle = "Only turtles have `turtle`; this computer isn't one.",
  pocket = "Only pocket computers have `pocket`; this computer isn't one.",
  commands = "Only command computers have `commands`; this computer isn't one.",
  multishell = "Only advanced computers have `multishell`.",
  http = "The HTTP API is off on this computer.",
}

local function names_any(message, texts)
  for _, text in next, texts do
    if find(message, text, 1, true) then return true end
  end
  return false
end

local function hint_for(message, code)
  if guard.is_abort(message) then return YIELD_HINT end
  if names_any(message, OVERFLOWS) then return OVERFLOW_HINT end
  if names_any(message, OUT_OF_MEMORY) then return MEMORY_HINT end
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

-- The outcome of code that threw something.
local function failure(self, message, traceback)
  return {
    ok = false,
    kind = guard.is_abort(message) and "timeout" or "runtime",
    message = message,
    traceback = traceback,
    hint = hint_for(message, self.code),
  }
end

-- Lets others run in the midst of code that prints much, where it can be: neither in a coroutine of its own, nor within
-- a function of the game that calls it. For the code nothing happens: events wait, and its time goes on counting.
local function give_way(self)
  local ran = self.clock() - self.resumed_at
  if ran < PRINTING_SECONDS or running() ~= self.thread then return end
  if self.ran + ran >= LIMIT_SECONDS then guard.abort(CALLER_OF_PRINT) end
  if pcall(yield, PAUSE) then self.ran = self.ran + ran end
end

-- Runs the code, and describes what comes of it.
local function run(self, code)
  local call = code
  if self.setup.handler then
    call = function() return call_handler(self, code) end
  end
  local results, thrown, trace = guard.run(self.chunk, call)
  if results[1] then
    if not self.setup.handler then return { ok = true, returns = describe.values(results, 2) } end
    local values = json.array({})
    for i = 2, results.n do values[i - 1] = results[i] == nil and json.null or results[i] end
    return { ok = true, result = { values = values } }
  end
  return failure(self, describe.error_text(thrown), trace)
end

-- Compiles the code and runs it.
local function compile_and_run(self, env)
  local handler = self.setup.handler
  local code, problem = chunk.compile(self.code, self.chunk, env, handler ~= nil and handler.method ~= nil)
  if code then return run(self, code) end
  return { ok = false, kind = "syntax", message = describe.error_text(problem) }
end

-- Runs the command line.
local function run_program(self)
  local options = self.program
  local ended = program.run(self.code, {
    shell = options.shell, multishell = options.multishell, require = options.require,
    shows_errors = self.setup.where == console.SCREEN,
  })
  if not ended then return { ok = true, result = { success = true } } end
  local outcome = failure(self, ended.message, ended.trace)
  outcome.kind = ended.kind or outcome.kind
  return outcome
end

-- Does the agent's own work. It gets no events, and waits by the clock only.
local function run_built_in(self)
  local function wait_until(due)
    self.wake_at = due
    yield()
    self.wake_at = nil
  end
  local ok, outcome = pcall(self.setup.handler.built_in.run, self.clock, wait_until)
  if ok then return outcome end
  return { ok = false, kind = "runtime", message = "mcp-computer: internal error: " .. describe.error_text(outcome) }
end

-- What the job's coroutine runs: all that takes time, from compiling the code to writing the answer, so that it meets
-- the same limits as the code.
local function body(self, env)
  local outcome
  if self.is_built_in then
    outcome = run_built_in(self)
  elseif self.setup.is_program then
    outcome = run_program(self)
  else
    outcome = compile_and_run(self, env)
  end
  self.is_answering = true
  outcome.screen = self:screen()
  if outcome.result and not self.is_built_in then outcome.result.screen = outcome.screen end
  local write_answer = self.setup.answer
  if write_answer then
    self.answer = write_answer(outcome, function()
      if self.clock() - self.resumed_at >= ANSWERING_SECONDS then yield(PAUSE) end
    end)
  end
  self.outcome = outcome
end

--- How one ends that could not begin in time.
-- @treturn table An outcome.
function job.expired()
  return {
    ok = false, kind = "expired", message = "its time was up before it could begin, so it was not run",
    hint = EXPIRED_HINT,
  }
end

--- Makes a job; nothing of it runs before the first @{job:resume}.
-- @param id Its request's.
-- @tparam string code
-- @tparam table setup Its version's affairs:
--   `output`: where what it prints goes; `answer(outcome, pause)`: writes its answer, calling `pause` now and then, or
--   nil; `start_before`: when it begins at the latest, or nil; see @{identity.time}; `on_begin()`: called right before
--   it first runs, or nil; `request`: kept in the job; `owner`: likewise; `handler`: `{name, method, arguments}` if the
--   code is that of a tool, whose values are returned as they are, or `{name, built_in}` for the agent's own work:
--   `built_in.run(clock, wait_until)` returns the outcome, and `built_in.stop()` is called if it is cancelled;
--   `caller`: for whom, as the bridge says; `told`: what the tool tells beside what it prints, or nil; `where`,
--   `width`, `height`: see @{console.new}; `is_program`: whether the code is a command line, not Lua.
-- @tparam table options `program` (see @{environment.new}); `clock()`: seconds; `on_halt(job, name)`: called before the
--   computer halts.
-- @treturn job
function job.new(id, code, setup, options)
  local self = setmetatable({
    id = id,
    code = code,
    chunk = setup.handler and setup.handler.name or setup.is_program and code or CHUNK,
    setup = setup,
    program = options.program,
    has_begun = false,
    request = setup.request,
    owner = setup.owner,     -- to whom its answer goes
    output = setup.output,
    clock = options.clock,
    -- filter = nil: the only event it waits for
    is_answering = false,    -- its code has ended, and its answer is being written
    is_paused = false,       -- it goes on without an event
    is_built_in = setup.handler ~= nil and setup.handler.built_in ~= nil,
    -- wake_at = nil: when something built in goes on, in seconds
    resumed_at = 0,          -- when it was resumed, in seconds
    ran = 0,                 -- how long it had run before, since it last yielded of its own accord
    -- outcome = nil: once it has ended: {ok, returns} or {ok, kind, message, traceback, hint}; `screen`
    -- answer = nil: what `answer` wrote
    -- console = nil
    -- terminal = nil: the one that it last used
    -- printing = nil
    -- on_halt = nil
  }, job)
  self.console = console.new({
    output = self.output, on_much = function() give_way(self) end, where = setup.where,
    width = setup.width, height = setup.height,
  })
  self.terminal = self.console.terminal
  self.printing = printing.new(self.console)
  self.on_halt = function(name) options.on_halt(self, name) end
  local env = not self.is_built_in and environment.new({ program = options.program, on_halt = self.on_halt })
  if setup.told then helpers.install(env, setup.told, function() give_way(self) end) end
  self.thread = create(function() body(self, env) end)
  return self
end

--- What the terminal of its own shows, if the job has one and drew there.
-- @treturn string|nil
function job:screen()
  local ok, screen = guard.pcall(self.console.screen, self.console)
  return ok and screen or nil
end

--- Whether it is time for something built in to go on.
-- @treturn boolean
function job:is_due()
  return self.wake_at ~= nil and self.clock() >= self.wake_at
end

--- Ends the job, of which nothing more is to run then.
-- @tparam[opt] string why
function job:cancel(why)
  self.thread = nil
  if self.is_built_in then pcall(self.setup.handler.built_in.stop) end
  self.outcome = {
    ok = false, kind = "cancelled", message = why or "cancelled", screen = self:screen(),
    not_begun = not self.has_begun or nil,
  }
end

-- Whether the job may not begin any more: whoever asked for it has been told that it doesn't.
local function is_late(self)
  local latest = self.setup.start_before
  return latest ~= nil and identity.time() >= latest
end

--- Whether the job waits for this event.
-- @tparam string name
-- @treturn boolean
function job:wants(name)
  if self.is_answering or self.is_built_in then return false end
  return self.filter == nil or self.filter == name or name == "terminate"
end

--- Runs the job until it yields or ends, on the terminal it last used.
-- @tparam[opt] table event Packed, with its length in `n`; none at the start and after a pause.
function job:resume(event)
  if not self.has_begun then
    if is_late(self) then
      self.outcome = job.expired()
      return
    end
    self.has_begun = true
    local on_begin = self.setup.on_begin
    if on_begin then on_begin() end
  end
  if not self.is_paused then self.ran = 0 end
  self.resumed_at = self.clock()
  local agent_terminal = term_current()
  present.set(self.terminal)
  printing.enter(self.printing)
  halting.enter(self.on_halt)
  local ok, yielded
  if event then
    ok, yielded = resume(self.thread, unpack(event, 1, event.n))
  else
    ok, yielded = resume(self.thread)
  end
  halting.leave()
  printing.leave(self.printing)
  self.terminal = term_current()
  present.set(agent_terminal)
  self.is_paused = ok and rawequal(yielded, PAUSE)
  self.filter = type(yielded) == "string" and yielded or nil
  if not ok then
    -- It was stopped while its code was compiled, or its results were described.
    self.outcome = failure(self, describe.error_text(yielded))
    self.outcome.screen = self:screen()
  elseif status(self.thread) == "dead" and not self.outcome then
    self.outcome = failure(self, "the job ended without a result")
  end
end

return job
