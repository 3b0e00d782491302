--- What a bridge can ask of a computer: one function for each method of a request.

local identity = require("mcp-computer.identity")
local json = require("mcp-computer.json")

local rawequal, tostring, type = rawequal, tostring, type

local methods = {}

local function refusal(message, hint)
  return { ok = false, kind = "refused", message = message, hint = hint }
end

-- A method gets the agent's jobs, the request (its `params` are a table) and the connection it came by; it returns the
-- outcome, or nil if the answer comes later, from a job.
local by_name = {}

by_name["ping"] = function()
  return { ok = true, result = "pong from " .. identity.name() }
end

-- Version 1 promises nothing about ids: another link may bring the same one for something else.
local function key_of(request, connection)
  local key = type(request.id) .. " " .. tostring(request.id)
  if connection.version >= 2 then return key end
  return key .. " " .. connection.url
end

by_name["exec-lua"] = function(jobs, request, connection)
  local code = request.params.code
  if type(code) ~= "string" then
    return refusal("exec-lua needs a string in params.code", "Send the Lua source to run as params.code.")
  end
  local key = key_of(request, connection)
  local running = jobs:find(key)
  if running then
    -- It is never run twice; its answer goes to whoever asked last.
    running.owner = connection
    return nil
  end
  if not jobs:start(key, request.id, code, connection) then
    return refusal("this computer already runs " .. jobs.LIMIT .. " jobs",
      "Wait until some have ended, or start mcp-computer anew on that computer.")
  end
  return nil
end

--- Starts what a request asks for.
-- @tparam table request The frame: `id`, `method`, `params`.
-- @tparam jobs jobs
-- @tparam table connection Where it came from, and its answer goes.
-- @treturn table|nil Its outcome (see @{reply.encode}), or nil if a job was started.
function methods.call(request, jobs, connection)
  local method = type(request.method) == "string" and by_name[request.method]
  if not method then
    return {
      ok = false,
      kind = "unsupported",
      message = "unknown method",
      hint = "This agent answers ping and exec-lua. A newer one may know more: update it from the bridge.",
    }
  end
  local params = request.params
  if params == nil or rawequal(params, json.null) then request.params = {} end
  if type(request.params) ~= "table" then return refusal("params must be an object") end
  return method(jobs, request, connection)
end

return methods
