--- The requests that the agent remembers, so that none runs twice, and the answers that it keeps until they arrive.

local stream = require("mcp-computer.stream")

local max = math.max
local remove, sort = table.remove, table.sort
local setmetatable = setmetatable

local memory = {}
memory.__index = memory

--- The states of a request: its job runs, its answer is kept, or its answer is no longer kept.
memory.RUNNING, memory.FINISHED, memory.GONE = "running", "finished", "gone"

--- Requests that are remembered at most, but for running ones.
memory.LIMIT = 4096
--- Answers that are kept at most.
memory.KEPT_LIMIT = 256
--- Bytes of the answers that are kept. What jobs have printed counts apart (@{stream}).
memory.BYTES_LIMIT = 2 * 1024 * 1024
--- Bytes of those answers that are too large for one message, which count apart.
memory.LARGE_BYTES_LIMIT = 32 * 1024 * 1024
-- From this size on an answer is a large one.
local LARGE = 128 * 1024

-- How long the answer of a job is kept.
local KEPT_SECONDS = 3600
-- Requests that are looked at when one is added, whether they can be forgotten.
local LOOKS = 4

-- Counts the bytes of an answer that is kept from now on (`sign` 1), or no longer (-1).
local function count_bytes(self, answer, sign)
  if #answer >= LARGE then
    self.large_bytes = self.large_bytes + sign * #answer
  else
    self.bytes = self.bytes + sign * #answer
  end
end

-- Lets go of a request's answer and of what it printed.
local function let_go(self, request)
  if request.answer then
    count_bytes(self, request.answer, -1)
    request.answer = nil
    for i = 1, #self.kept do
      if self.kept[i] == request then
        remove(self.kept, i)
        break
      end
    end
  end
  if request.stream then
    request.stream:release()
    request.stream = nil
  end
  request.state = memory.GONE
end

-- Lets go of the longest finished request that `wanted` accepts, but never of the latest.
local function evict(self, wanted)
  for i = 1, #self.kept - 1 do
    if wanted(self.kept[i]) then
      let_go(self, self.kept[i])
      return true
    end
  end
  return false
end

local function any()
  return true
end

local function is_large(request)
  return #request.answer >= LARGE
end

local function is_small(request)
  return not is_large(request)
end

-- Drops output of the longest finished requests, until there is not too much: better than an answer, or than what the
-- running ones print now.
local function drop_output(self)
  for i = 1, #self.kept do
    local excess = self.budget.bytes - stream.LIMIT_OF_ALL
    if excess <= 0 then return end
    if self.kept[i].stream then self.kept[i].stream:drop(excess) end
  end
end

--- @tparam function clock Seconds.
-- @treturn memory An empty one.
function memory.new(clock)
  local self = setmetatable({
    clock = clock,
    by_key = {},      -- requests; see `memory:add`
    order = {},       -- the same, at indices first..last, by when they were last looked at
    first = 1,
    last = 0,
    kept = {},        -- those whose answer is kept, the longest finished first
    bytes = 0,        -- of their answers
    large_bytes = 0,
    has_lost = false, -- whether a request was forgotten whose answer may not have arrived
  }, memory)
  self.budget = stream.new_budget(function() drop_output(self) end)
  return self
end

--- @tparam string key
-- @treturn table|nil The request.
function memory:find(key)
  return self.by_key[key]
end

-- Whether a request may be forgotten.
local function is_over(request, now)
  if request.state == memory.RUNNING or now < request.expires then return false end
  return request.state == memory.GONE or not request.kept_until or now >= request.kept_until
end

--- Forgets requests whose time is over, if they are among those that it looks at.
-- @tparam number looks How many those are.
function memory:sweep(looks)
  local now = self.clock()
  local count = self.last - self.first + 1
  for _ = 1, looks < count and looks or count do
    local request = self.order[self.first]
    self.order[self.first] = nil
    self.first = self.first + 1
    local too_many = count > memory.LIMIT and request.state ~= memory.RUNNING
    if too_many or is_over(request, now) then
      let_go(self, request)
      if not request.has_arrived then self.has_lost = true end
      self.by_key[request.key] = nil
      count = count - 1
    else
      self.last = self.last + 1
      self.order[self.last] = request
    end
  end
end

--- Takes on a request.
-- @tparam table request `key`; `state`; `number`: larger than those of all before; `expires`: until when it is
--   remembered at least, in seconds; `stream`: what its job prints, or nil.
function memory:add(request)
  self.by_key[request.key] = request
  self.last = self.last + 1
  self.order[self.last] = request
  self:sweep(LOOKS)
end

local function came_before(a, b)
  return a.number < b.number
end

--- All requests of which an answer is due or kept, the oldest first.
-- @treturn {table,...}
function memory:open()
  local result = {}
  for i = self.first, self.last do
    if self.order[i].state ~= memory.GONE then result[#result + 1] = self.order[i] end
  end
  sort(result, came_before)
  return result
end

--- Keeps a request's answer.
-- @tparam table request
-- @tparam string answer
-- @tparam boolean is_job Whether it is kept for long.
function memory:keep(request, answer, is_job)
  request.state = memory.FINISHED
  request.answer = answer
  request.kept_until = is_job and max(request.expires, self.clock() + KEPT_SECONDS) or request.expires
  self.kept[#self.kept + 1] = request
  count_bytes(self, answer, 1)
  while #self.kept > memory.KEPT_LIMIT and evict(self, any) do end
  while self.large_bytes > memory.LARGE_BYTES_LIMIT and evict(self, is_large) do end
  while self.bytes > memory.BYTES_LIMIT and evict(self, is_small) do end
end

--- Takes another answer in the place of the one that is kept.
-- @tparam table request
-- @tparam string answer
function memory:replace(request, answer)
  count_bytes(self, request.answer, -1)
  count_bytes(self, answer, 1)
  request.answer = answer
end

--- The answer has arrived.
-- @tparam table request
function memory:release(request)
  request.has_arrived = true
  let_go(self, request)
end

return memory
