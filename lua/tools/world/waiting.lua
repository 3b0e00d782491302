-- Waits for an event of a computer.

local errors = require("shared.errors")

local format = string.format

-- Milliseconds to wait if it isn't said.
local WAIT = 20000
-- Characters of an answer.
local LONGEST = 30000
-- Tables within one another that are shown.
local DEEPEST = 12
-- Bytes of a table's key that is shown.
local KEY = 200

-- What the player does reaches the player's own programs, not what runs for others.
local OF_THE_PLAYER = {
  char = true, key = true, key_up = true, paste = true, mouse_click = true, mouse_up = true, mouse_drag = true,
  mouse_scroll = true, terminate = true,
}

-- What goes on all the time, and is meant only if it is named.
local NOISE = {
  timer = true, task_complete = true, turtle_response = true, websocket_message = true, websocket_success = true,
  websocket_closed = true, websocket_failure = true, modem_message = true, mcp_wait_begins = true,
}

-- Characters that a text takes in JSON, at most.
local function cost_of(text)
  local _, quotes = text:gsub('["\\]', "")
  local _, others = text:gsub("[%c\127-\255]", "")
  return #text + 3 * quotes + 5 * others
end

-- As much of a text as takes so many characters, at most.
local function beginning_of(text, room)
  local beginning = text:sub(1, math.max(room, 0))
  while cost_of(beginning) > room and #beginning > 0 do beginning = beginning:sub(1, math.floor(#beginning / 2)) end
  return beginning .. format("... (%d bytes)", #text)
end

-- A value as JSON can say it, within the bytes that are left to `state`.
local function plain(value, state, depth)
  local kind = type(value)
  if kind == "nil" then return json.null end
  state.left = state.left - 8
  if kind == "number" and (value ~= value or value == math.huge or value == -math.huge) then return tostring(value) end
  if kind == "number" or kind == "boolean" then return value end
  if kind == "string" then
    local room = math.max(state.left, 0)
    -- Of what can't fit, no more is looked at.
    local cost = #value > room and #value or cost_of(value)
    state.left = room - cost
    return cost <= room and value or beginning_of(value, room)
  end
  if kind ~= "table" then return "a " .. kind end
  if depth >= DEEPEST then return "a table, too deep to show" end
  local result = {}
  for key, item in pairs(value) do
    if state.left <= 0 then
      result["..."] = "there is more"
      break
    end
    if type(key) == "string" and #key <= KEY or type(key) == "number" then
      state.left = state.left - (type(key) == "string" and cost_of(key) or 8)
      result[key] = plain(item, state, depth + 1)
    end
  end
  return result
end

-- Whether an event has these values, as text, in order; an empty one may be any.
local function has(event, values)
  for place, value in ipairs(values) do
    if value ~= "" and tostring(event[place + 1]) ~= value then return false end
  end
  return true
end

-- What comes in at each side.
local function signals()
  local powers = {}
  for _, side in ipairs(redstone.getSides()) do powers[side] = redstone.getAnalogInput(side) end
  return powers
end

-- Passes over what has happened before: it still stands in the queue. A redstone event of then would tell of a change
-- that nobody sees any more.
local function pass_over()
  local mark, timer = tostring({}), os.startTimer(1)
  os.queueEvent("mcp_wait_begins", mark)
  local event
  repeat
    event = { os.pullEvent() }
    -- The mark is lost if the queue was full.
  until event[1] == "mcp_wait_begins" and event[2] == mark or event[1] == "timer" and event[2] == timer
  os.cancelTimer(timer)
end

--- `wait-event`.
local function wait(arguments)
  local name, values = arguments.event, arguments.values or {}
  if name and OF_THE_PLAYER[name] then
    return nil, format("%s is of the player, whose own programs get it: no tool can wait for it.", name)
  end
  pass_over()
  local seconds = (arguments.timeoutMs or WAIT) / 1000
  local timer, due = os.startTimer(seconds), os.clock() + seconds
  local others, kinds, before = 0, {}, signals()
  while true do
    local event = table.pack(os.pullEvent())
    local kind = event[1]
    if kind == "timer" and event[2] == timer or os.clock() > due + 1 then break end
    if (kind == name or not name and not NOISE[kind] and not OF_THE_PLAYER[kind]) and has(event, values) then
      os.cancelTimer(timer)
      local state, shown = { left = LONGEST }, json.array({})
      for i = 2, event.n do shown[i - 1] = plain(event[i], state, 1) end
      local answer = { event = kind, values = shown }
      if kind == "redstone" then
        -- The game doesn't tell which has changed, and a pulse may be over when it is looked at.
        answer.input, answer.changed = signals(), {}
        for side, power in pairs(answer.input) do
          if power ~= before[side] then answer.changed[side] = { before[side], power } end
        end
      end
      return answer
    end
    if not NOISE[kind] and not OF_THE_PLAYER[kind] then
      others = others + 1
      if not kinds[kind] and #kinds < 10 then
        kinds[kind] = true
        kinds[#kinds + 1] = tostring(kind):sub(1, 100)
      end
    end
  end
  return nil, format("%s within %s%s. Call again to wait on; what happens between two calls is missed.",
    name and "The event " .. name .. (next(values) and " with these values" or "") .. " did not happen"
      or "No event happened",
    seconds == 1 and "1 second" or format("%g seconds", seconds),
    others > 0 and format(" (others did, %d: %s)", others, table.concat(kinds, ", ")) or "")
end

return { wait = errors.kept_short(wait) }
