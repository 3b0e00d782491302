--- The requests of version 1: each is answered once, on the connection it came by, with all that it printed.

local methods = require("mcp-computer.methods")
local output = require("mcp-computer.output")
local reply = require("mcp-computer.reply")

local pcall, setmetatable, tostring, type = pcall, setmetatable, tostring, type

local legacy = {}
legacy.__index = legacy

--- @tparam table options `jobs`; `send(connection, message)`: see @{link:send}.
-- @treturn legacy
function legacy.new(options)
  return setmetatable({ jobs = options.jobs, transmit = options.send }, legacy)
end

local function send(self, connection, id, message)
  local sent, problem = self.transmit(connection, message)
  if not sent and problem == "too-large" then
    self.transmit(connection, reply.refused_by_game(connection, id, #message))
  end
end

-- Version 1 promises nothing about ids: another link may bring the same one for something else.
local function key_of(connection, id)
  return type(id) .. " " .. tostring(id) .. " " .. connection.url
end

local function start_job(self, connection, id, code)
  local key = key_of(connection, id)
  if self.jobs:find(key) then return nil end -- it is never run twice, and will be answered
  if not self.jobs:start(key, id, code, { owner = connection, output = output.new() }) then
    return methods.too_many_jobs()
  end
  return nil
end

--- Takes a frame, if it is a request.
-- @tparam table connection Where it came from, and its answer goes.
-- @tparam table frame
function legacy:handle(connection, frame)
  if frame.type ~= "request" or not reply.is_id(frame.id) then return end
  local ok, outcome = pcall(methods.call, frame, function(code, _, handler)
    if handler then return { ok = false, kind = "unsupported", message = "unknown method" } end
    return start_job(self, connection, frame.id, code)
  end)
  if not ok then
    outcome = { ok = false, kind = "runtime", message = "mcp-computer: internal error: " .. tostring(outcome) }
  end
  if outcome then send(self, connection, frame.id, reply.encode(connection, frame.id, outcome)) end
end

--- A request's job has ended.
-- @tparam job job
function legacy:job_ended(job)
  send(self, job.owner, job.id, reply.encode(job.owner, job.id, job.outcome, job.output:text()))
end

return legacy
