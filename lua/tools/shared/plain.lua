-- Values of Lua as JSON can say them, within bounds: what clients get of a method or an event.

local format, gsub, sub = string.format, string.gsub, string.sub
local huge = math.huge

local plain = {}

-- Tables within one another that are shown.
local DEEPEST = 12
-- Bytes of a table's key that is shown.
local KEY = 200

--- Characters that a text takes in JSON, at most.
function plain.cost(text)
  local _, quotes = gsub(text, '["\\]', "")
  local _, others = gsub(text, "[%c\127-\255]", "")
  return #text + 3 * quotes + 5 * others
end

--- As much of a text as takes so many characters, at most.
function plain.beginning(text, room)
  local beginning = sub(text, 1, math.max(room, 0))
  while plain.cost(beginning) > room and #beginning > 0 do
    beginning = sub(beginning, 1, math.floor(#beginning / 2))
  end
  return beginning .. format("... (%d bytes)", #text)
end

--- A value, of as many characters as are left: `state.left`, which becomes less. `state.is_cut` says then whether it
-- was too much. What is left out of a table is marked in it if `state.marks` says so.
function plain.value(value, state, depth)
  depth = depth or 1
  local kind = type(value)
  if kind == "nil" then return json.null end
  if kind == "boolean" then return value end
  if kind == "number" then
    state.left = state.left - 8
    if value ~= value or value == huge or value == -huge then return tostring(value) end
    return value
  end
  if kind == "string" then
    local room = math.max(state.left, 0)
    -- Of what can't fit, no more is looked at.
    local cost = #value > room and #value or plain.cost(value)
    state.left = room - cost - 3
    if cost <= room then return value end
    state.is_cut = true
    return plain.beginning(value, room)
  end
  if kind ~= "table" then return "a " .. kind end
  if depth >= DEEPEST then return "a table, too deep to show" end
  local result = {}
  for key, item in pairs(value) do
    if state.left <= 0 then
      state.is_cut = true
      if state.marks then result["..."] = "there is more" end
      break
    end
    if type(key) == "string" and #key <= KEY or type(key) == "number" then
      state.left = state.left - (type(key) == "string" and plain.cost(key) or 8) - 4
      result[key] = plain.value(item, state, depth + 1)
    end
  end
  return result
end

return plain
