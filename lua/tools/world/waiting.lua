-- Waits for an event of a computer.

local errors = require("shared.errors")
local plain = require("shared.plain")

local format = string.format

-- Milliseconds to wait if it isn't said.
local WAIT = 20000
-- Characters of an answer.
local LONGEST = 30000

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
      local state, shown = { left = LONGEST, marks = true }, json.array({})
      for i = 2, event.n do shown[i - 1] = plain.value(event[i], state) end
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
