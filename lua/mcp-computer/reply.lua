--- Answers to requests, as each version of the protocol writes them, and never larger than the peer accepts.

local json = require("mcp-computer.json")
local number = require("mcp-computer.number")
local output = require("mcp-computer.output")
local text = require("mcp-computer.text")

local find, gsub, sub = string.find, string.gsub, string.sub
local floor = math.floor
local type = type

local reply = {}

-- Values that hold this many times what a message may are not even written out to be measured.
local HOPELESS_FACTOR = 8

-- What holds an answer, as errors call it.
local MESSAGE, PARTS = "a message", "an answer in parts"

--- Bytes of an answer in parts, at most.
reply.PARTS_LIMIT = 16 * 1024 * 1024

-- An error of version 1 is one string: all of it that helps goes in.
local function error_line(outcome)
  local line = outcome.message
  if outcome.traceback then
    local _, frames = gsub(outcome.traceback, "\n", "")
    if frames > 1 then line = line .. "\n" .. outcome.traceback end
  end
  if outcome.hint and outcome.kind ~= "unsupported" then line = line .. "\n" .. outcome.hint end
  return line
end

local function frame_of(connection, id, outcome, printed)
  local frame = { type = "response", id = id, ok = outcome.ok }
  if outcome.ok then
    frame.result = outcome.result or { returns = outcome.returns, output = printed }
    return frame
  end
  if connection.version >= 2 then
    frame.error = {
      kind = outcome.kind, message = outcome.message, traceback = outcome.traceback, hint = outcome.hint,
      notBegun = outcome.not_begun,
    }
  else
    frame.error = error_line(outcome)
  end
  if printed then frame.result = { output = printed } end
  return frame
end

local function encode(connection, id, outcome, printed)
  return json.encode(frame_of(connection, id, outcome, printed), connection.mode)
end

-- The beginning of what was printed, so that it takes at most `room` bytes on the wire.
local function shortened(printed, room, mode)
  local gap = output.gap(#printed)
  room = room - #text.escape(gap, mode)
  if room <= 0 then return gap end
  local kept = #printed
  while true do
    local taken = #text.escape(sub(printed, 1, kept), mode)
    if taken <= room then break end
    -- What is kept shrinks by at least a tenth, and in one or two steps to about the room there is.
    kept = floor(kept * room / taken * 0.95)
  end
  return sub(printed, 1, kept) .. output.gap(#printed - kept)
end

-- Bytes of the strings among returned values: what they take on the wire is at least that.
local function size_of_values(returns)
  local size = 0
  for i = 1, #returns do
    local content = returns[i].value or returns[i].repr
    if type(content) == "string" then size = size + #content end
  end
  return size
end

local function too_large(size_text, limit, carrier)
  return {
    ok = false,
    kind = "too-large",
    message = "the result is too large: " .. size_text .. " bytes, where " .. carrier .. " may hold "
      .. number.format(limit),
    hint = "The code has run. Return less: a part of the value (string.sub, or some of the entries), or write it to a "
      .. "file and read that piece by piece.",
  }
end

--- Writes the answer to a request of version 1.
-- @tparam table connection Whose `mode`, `version` and `limit` count (see @{link.new}).
-- @tparam string id
-- @tparam table outcome `ok` with `result` or `returns`; or not, with `kind`, `message`, `traceback`, `hint`, and
--   `not_begun` if nothing was run where the kind does not say so.
-- @tparam[opt] string printed What the job printed.
-- @treturn string
function reply.encode(connection, id, outcome, printed)
  local limit = connection.limit
  local least = outcome.returns and size_of_values(outcome.returns) or 0
  if least > limit * HOPELESS_FACTOR then
    return reply.encode(connection, id, too_large("over " .. number.format(least), limit, MESSAGE), printed)
  end
  local message = encode(connection, id, outcome, printed)
  if #message <= limit then return message end
  if printed then
    local bare = encode(connection, id, outcome, "")
    if #bare + #text.escape(output.gap(#printed), connection.mode) <= limit then
      return encode(connection, id, outcome, shortened(printed, limit - #bare, connection.mode))
    end
  end
  if outcome.kind == "too-large" then return encode(connection, id, outcome) end
  return reply.encode(connection, id, too_large(number.format(#message), limit, MESSAGE), printed)
end

--- The answer to send where the game itself refused to send one.
-- @tparam table connection
-- @tparam string id
-- @tparam number size Bytes of the refused message.
-- @treturn string
function reply.refused_by_game(connection, id, size)
  return encode(connection, id, too_large(number.format(size), connection.limit, MESSAGE))
end

local function raw(id, outcome, printed, pause)
  local frame = { type = "response", id = id, ok = outcome.ok, outputBytes = printed, halts = outcome.halts }
  if outcome.ok then
    frame.result = outcome.result
      or { returns = outcome.returns, outputBytes = printed, screen = outcome.screen }
  else
    frame.error = {
      kind = outcome.kind, message = outcome.message, traceback = outcome.traceback, hint = outcome.hint,
      notBegun = outcome.not_begun,
    }
    if outcome.screen then frame.result = { screen = outcome.screen } end
  end
  return json.encode(frame, json.RAW, pause)
end

--- Writes the answer to a request of version 2, as it travels in parts.
-- @param id
-- @tparam table outcome As for @{reply.encode}, and `screen`: what the job drew, or nil.
-- @tparam[opt] number printed How many bytes the job printed.
-- @tparam[opt] function pause Called now and then.
-- @treturn string JSON text, its strings escaped as `json.RAW`.
function reply.raw(id, outcome, printed, pause)
  local limit = reply.PARTS_LIMIT
  local least = outcome.returns and size_of_values(outcome.returns) or 0
  if least > limit then return raw(id, too_large("over " .. number.format(least), limit, PARTS), printed) end
  local answer = raw(id, outcome, printed, pause)
  if #answer <= limit then return answer end
  return raw(id, too_large(number.format(#answer), limit, PARTS), printed)
end

--- The answer in the place of one that the bridge, or the game, refuses to take.
-- @param id
-- @tparam number size Bytes of that one.
-- @tparam number limit Bytes that a message may hold.
-- @tparam[opt] number printed How many bytes the job printed.
-- @treturn string As from @{reply.raw}.
function reply.refused(id, size, limit, printed)
  return raw(id, too_large(number.format(size), limit, MESSAGE), printed)
end

--- The answer in the place of one that is no longer kept.
-- @param id
-- @treturn string As from @{reply.raw}.
function reply.gone(id)
  return raw(id, {
    ok = false,
    kind = "result-gone",
    message = "this request was answered before, or cancelled, and its answer is no longer kept",
    hint = "It has not been run again. If its outcome matters, look at what it should have done.",
  })
end

--- An answer as one message.
-- @tparam string answer From @{reply.raw}.
-- @tparam number limit Bytes that a message may hold.
-- @treturn string|nil Nil if it is too large for that.
function reply.message(answer, limit)
  if #answer > limit then return nil end
  local message = text.ascii(answer)
  return #message <= limit and message or nil
end

--- Whether an id can be answered to.
-- @param id
-- @treturn boolean
function reply.is_id(id)
  return type(id) == "string" and id ~= "" or type(id) == "number" and find(number.format(id), "^%-?%d+$") ~= nil
end

return reply
