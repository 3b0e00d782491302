--- The requests of version 1: each is answered once, on the connection it came by, with all that it printed.

local consent = require("mcp-computer.consent")
local methods = require("mcp-computer.methods")
local output = require("mcp-computer.output")
local reply = require("mcp-computer.reply")

local pcall, setmetatable, tostring, type = pcall, setmetatable, tostring, type

local legacy = {}
legacy.__index = legacy

--- @tparam table options `jobs`; `consent`; `send(connection, message)`: see @{link:send}.
-- @treturn legacy
function legacy.new(options)
  return setmetatable({ jobs = options.jobs, consent = options.consent, transmit = options.send }, legacy)
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

local function nothing() end

local function start_job(self, connection, id, code, question)
  local key = key_of(connection, id)
  -- It is never run twice, and will be answered.
  if self.jobs:find(key) or self.consent:has(key) then return nil end
  local function begin()
    return self.jobs:start(key, id, code, { owner = connection, output = output.new() })
  end
  local function answer(outcome)
    send(self, connection, id, reply.encode(connection, id, outcome))
  end
  if not question then return not begin() and methods.too_many_jobs() or nil end
  local is_taken = self.consent:ask({
    key = key, heading = question.heading, text = question.text,
    -- A bridge of version 1 does not say until when it may begin.
    is_late = nothing, on_shown = nothing,
    on_yes = function()
      if not begin() then answer(methods.too_many_jobs()) end
    end,
    on_no = answer,
  })
  return not is_taken and consent.too_many() or nil
end

--- Takes a frame, if it is a request.
-- @tparam table connection Where it came from, and its answer goes.
-- @tparam table frame
function legacy:handle(connection, frame)
  if frame.type ~= "request" or not reply.is_id(frame.id) then return end
  local ok, outcome = pcall(methods.call, frame, function(code, _, handler, question)
    if handler then return { ok = false, kind = "unsupported", message = "unknown method" } end
    return start_job(self, connection, frame.id, code, question)
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
