--- What a bridge can ask of a computer: one function for each method of a request.

local acts = require("mcp-computer.acts")
local identity = require("mcp-computer.identity")
local console = require("mcp-computer.console")
local handlers = require("mcp-computer.handlers")
local harmless = require("mcp-computer.harmless")
local jobs = require("mcp-computer.jobs")
local json = require("mcp-computer.json")
local policy = require("mcp-computer.policy")
local view = require("mcp-computer.view")

local find, gsub, sub = string.find, string.gsub, string.sub
local concat, huge, sort = table.concat, math.huge, table.sort
local next, pcall, rawequal, type = next, pcall, rawequal, type

-- The handlers that bridges have shipped here.
local shipped = handlers.new()

-- How a handler is called in errors where the bridge does not say.
local HANDLER = "handler"

local methods = {}

local function refusal(message, hint)
  return { ok = false, kind = "refused", message = message, hint = hint }
end

--- What is answered where there is no room for a job.
-- @treturn table An outcome.
function methods.too_many_jobs()
  return refusal("this computer already runs " .. jobs.LIMIT .. " jobs",
    "Wait until some have ended, or start mcp-computer anew on that computer.")
end

local chosen = policy.FULL

--- Says what this start of the agent lets bridges do.
-- @tparam string name A policy's.
function methods.set_policy(name)
  chosen = name
end

-- Whether the player lets nothing new begin.
local is_paused = false

--- Says whether something may begin, from now on.
-- @tparam boolean paused
function methods.set_paused(paused)
  is_paused = paused
end

--- @treturn boolean
function methods.is_paused()
  return is_paused
end

local function paused()
  return refusal(identity.name() .. " is paused: whoever plays there lets nothing new begin for now. It was not run",
    "It goes on once `mcp-computer resume` is typed there, or the player is asked to. What ran before goes on.")
end

-- What the programs of a hosted shell died of; nil: none is hosted.
local list_errors

--- Says where the errors of the player's programs are.
-- @tparam function|nil list See @{errors.list}.
function methods.set_errors(list)
  list_errors = list
end

-- A method gets the request's `params`, a table, and `start` (see below). It returns the outcome, or nil if the answer
-- comes later, from a job; and whether the request was taken, not refused.
local by_name = {}

by_name["ping"] = function()
  return { ok = true, result = "pong from " .. identity.name() }, true
end

local WRONG_WHERE = "params.where must be \"job\" or \"screen\""

local function is_where(where)
  return where == nil or where == console.JOB or where == console.SCREEN
end

by_name["exec-lua"] = function(params, start)
  local code = params.code
  if type(code) ~= "string" then
    return refusal("exec-lua needs a string in params.code", "Send the Lua source to run as params.code."), false
  end
  if not is_where(params.where) then
    return refusal(WRONG_WHERE, "Leave it out, and what is drawn is on the computer's screen."), false
  end
  local outcome = start(code, params)
  return outcome, outcome == nil
end

-- Cells of a program's own terminal, at most, each way.
local MOST_CELLS = 200

local function is_size(value)
  return value == nil or type(value) == "number" and value % 1 == 0 and value >= 1 and value <= MOST_CELLS
end

by_name["run-program"] = function(params, start)
  local command = params.command
  if type(command) ~= "string" or not find(command, "%S") then
    return refusal("the command is empty", "Such as \"ls /\"."), false
  end
  if not is_where(params.where) then return refusal(WRONG_WHERE), false end
  if not is_size(params.width) or not is_size(params.height) then
    return refusal("params.width and params.height must be whole numbers from 1 to " .. MOST_CELLS), false
  end
  local outcome = start(command, params, { name = command, is_program = true })
  return outcome, outcome == nil
end

-- The newest of the last ones. Those that don't fit into the answer are left out, oldest first.
local MOST_ERRORS, ERRORS_BYTES = 50, 100000

by_name["recent-errors"] = function(params)
  if not list_errors then
    return refusal("this computer's agent does not host its shell, so it does not see what programs die of",
      "Ask its player to start it by `mcp-computer --shell`. What exec-lua runs tells its errors itself."), false
  end
  local all, newest, bytes = list_errors(), {}, 0
  local limit = type(params.limit) == "number" and params.limit or MOST_ERRORS
  for i = #all, 1, -1 do
    bytes = bytes + #all[i].message + #all[i].program + #(all[i].traceback or "")
    if #newest >= limit or bytes > ERRORS_BYTES then break end
    newest[#newest + 1] = all[i]
  end
  return { ok = true, result = { total = #all, now = identity.time(), errors = json.array(newest) } }, true
end

-- A value of a request as a handler gets it: JSON's `null` is nil.
local function plain(value)
  if type(value) ~= "table" then return value end
  if rawequal(value, json.null) then return nil end
  local result = {}
  for key, item in next, value do result[key] = plain(item) end
  return result
end

-- The source that a request means: the one it brings, or the one of its hash. Under the hash of a handler that changes
-- nothing no other is kept.
local function source_of(params)
  local source, hash = params.source, params.hash
  if type(source) == "string" then
    local is_other = harmless.is_known(hash) and not harmless.is_source(hash, source)
    if type(hash) == "string" and not is_other then shipped:keep(hash, source) end
    return source
  end
  return type(hash) == "string" and shipped:find(hash) or nil
end

by_name["run-handler"] = function(params, start)
  local source, given = source_of(params), params.arguments
  if not source then
    return {
      ok = false, kind = "source-wanted", message = "this agent does not have the handler's source",
      hint = "Send it as params.source.",
    }, false
  end
  if given ~= nil and type(given) ~= "table" then return refusal("params.arguments must be an array"), false end
  local arguments = { n = given and #given or 0 }
  for i = 1, arguments.n do arguments[i] = plain(given[i]) end
  local outcome = start(source, params, {
    name = type(params.name) == "string" and params.name or HANDLER,
    method = type(params.method) == "string" and params.method or nil,
    arguments = arguments,
  })
  return outcome, outcome == nil
end

by_name["read-screen"] = function(params, start)
  local outcome = start("", params, { name = "read-screen", arguments = { n = 0 }, built_in = {
    run = function(clock, wait_until) return view.read(params, clock, wait_until) end, stop = function() end,
  } })
  return outcome, outcome == nil
end

by_name["send-input"] = function(params, start)
  local asked = acts.new(params)
  local outcome = start("", params, { name = "send-input", words = acts.words, built_in = {
    run = function(clock, wait_until) return acts.run(asked, clock, wait_until) end,
    stop = function() acts.stop(asked) end,
  } })
  return outcome, outcome == nil
end

-- Whether a request is for a handler that is known to change nothing: by its source itself, whatever the bridge says.
local function is_harmless(method, params)
  if method ~= "run-handler" or type(params) ~= "table" then return false end
  if not harmless.is_listed(params.hash, params.method) then return false end
  return type(params.source) ~= "string" or harmless.is_source(params.hash, params.source)
end

-- Characters of a text that the player is shown at first.
local BRIEF = 120

local function is_shorter(a, b)
  return #a < #b or #a == #b and a < b
end

-- A handler's arguments for the player. What is short comes first, since it says what is touched.
local function words(value, most, is_inside)
  if type(value) ~= "table" then
    local said = json.encode(value, json.RAW)
    if #said <= most then return said end
    return sub(said, 1, most) .. "... (" .. #said - most .. " more characters)"
  end
  local list = {}
  for i = 1, #value do list[i] = words(value[i], most, value.n == nil) end
  if not list[1] then
    for key, item in next, value do list[#list + 1] = gsub(key, "%c", "?") .. ": " .. words(item, most, true) end
    sort(list, is_shorter)
  end
  return is_inside and "{ " .. concat(list, ", ") .. " }" or concat(list, "\n")
end

-- What the player is asked: what is to run, and what the bridge calls it.
local function question_of(method, params, code, handler)
  if not handler or handler.is_program then return { heading = method, text = code } end
  if not handler.arguments then
    -- It is the agent's own work, as these say.
    local ok, given = pcall(handler.words, params)
    if not ok then ok, given = pcall(json.encode, params, json.RAW) end
    return { heading = method, text = ok and given or method }
  end
  return {
    heading = handler.name .. (handler.method and ", " .. handler.method or ""),
    brief = words(handler.arguments, BRIEF) .. "\n" .. code, text = words(handler.arguments, huge) .. "\n" .. code,
  }
end

--- Starts what a request asks for.
-- @tparam table request The frame: `id`, `method`, `params`.
-- @tparam function start Starts a job: `start(code, params, handler, question)` returns nil, or the outcome of one that
--   can't start. `handler`: see @{job.new}. `question`: `{heading, text}`, which the player has to answer before it
--   begins, or nil.
-- @treturn table|nil Its outcome (see @{reply}), or nil if a job was started.
-- @treturn boolean Whether it was taken, not refused.
function methods.call(request, start)
  local method = type(request.method) == "string" and by_name[request.method]
  if not method then
    return {
      ok = false,
      kind = "unsupported",
      message = "unknown method",
      hint = "This agent answers ping, exec-lua, run-program, run-handler, read-screen and send-input. A newer one may "
        .. "know more: update it from the bridge.",
    }, false
  end
  if is_paused and not policy.changes_nothing(request.method) then return paused(), false end
  local verdict = policy.judge(chosen, request.method)
  if verdict ~= policy.RUNS and is_harmless(request.method, request.params) then verdict = policy.RUNS end
  if verdict == policy.REFUSES then return refusal(policy.why_refused(chosen)), false end
  local params = request.params
  if params == nil or rawequal(params, json.null) then params = {} end
  if type(params) ~= "table" then return refusal("params must be an object"), false end
  return method(params, function(code, its, handler)
    local is_asked = verdict == policy.ASKS
    return start(code, its, handler, is_asked and question_of(request.method, params, code, handler) or nil)
  end)
end

return methods
