--- What a bridge can ask of a computer: one function for each method of a request.

local identity = require("mcp-computer.identity")
local jobs = require("mcp-computer.jobs")
local json = require("mcp-computer.json")

local rawequal, type = rawequal, type

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

-- A method gets the request's `params`, a table, and `start` (see below). It returns the outcome, or nil if the answer
-- comes later, from a job; and whether the request was taken, not refused.
local by_name = {}

by_name["ping"] = function()
  return { ok = true, result = "pong from " .. identity.name() }, true
end

by_name["exec-lua"] = function(params, start)
  local code = params.code
  if type(code) ~= "string" then
    return refusal("exec-lua needs a string in params.code", "Send the Lua source to run as params.code."), false
  end
  local outcome = start(code, params)
  return outcome, outcome == nil
end

--- Starts what a request asks for.
-- @tparam table request The frame: `id`, `method`, `params`.
-- @tparam function start Starts a job: `start(code, params)` returns nil, or the outcome of one that can't start.
-- @treturn table|nil Its outcome (see @{reply}), or nil if a job was started.
-- @treturn boolean Whether it was taken, not refused.
function methods.call(request, start)
  local method = type(request.method) == "string" and by_name[request.method]
  if not method then
    return {
      ok = false,
      kind = "unsupported",
      message = "unknown method",
      hint = "This agent answers ping and exec-lua. A newer one may know more: update it from the bridge.",
    }, false
  end
  local params = request.params
  if params == nil or rawequal(params, json.null) then params = {} end
  if type(params) ~= "table" then return refusal("params must be an object"), false end
  return method(params, start)
end

return methods
