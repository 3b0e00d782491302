-- Calls methods of peripherals side by side: those that take a tick take it together.

local reason = require("shared.errors").reason

local concat, format = table.concat, string.format
local unpack = table.unpack or unpack

-- Characters of all values of an answer, and bytes of one error.
local LONGEST, ERROR = 32000, 1000
-- Characters that each result has at least, so that its place is there.
local LEAST = 40
-- Tables within one another that are shown.
local DEEPEST = 12
-- Bytes of a table's key that is shown.
local KEY = 200
-- Names that an error lists.
local NAMES = 20

local function listed(names)
  table.sort(names)
  local shown = { unpack(names, 1, math.min(#names, NAMES)) }
  local rest = #names - #shown
  return concat(shown, ", ") .. (rest > 0 and format(" and %d more", rest) or "")
end

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
  if kind == "boolean" then return value end
  if kind == "number" then
    state.left = state.left - 8
    if value ~= value or value == math.huge or value == -math.huge then return tostring(value) end
    return value
  end
  if kind ~= "string" and kind ~= "table" then return "a " .. kind end
  if kind == "string" then
    local room = math.max(state.left, 0)
    -- Of what can't fit, no more is looked at.
    local cost = #value > room and #value or cost_of(value)
    state.left = room - cost - 3
    if cost <= room then return value end
    state.is_cut = true
    return beginning_of(value, room)
  end
  if depth >= DEEPEST then return "a table, too deep to show" end
  local result = {}
  for key, item in pairs(value) do
    if state.left <= 0 then
      state.is_cut = true
      break
    end
    if type(key) == "string" and #key <= KEY or type(key) == "number" then
      state.left = state.left - (type(key) == "string" and cost_of(key) or 8) - 4
      result[key] = plain(item, state, depth + 1)
    end
  end
  return result
end

-- Why a call can't be made; nil if it can.
local function problem_of(call, methods_of)
  local methods = methods_of[call.name]
  if methods == nil then
    methods = false
    if peripheral.isPresent(call.name) then
      methods = {}
      for _, method in ipairs(peripheral.getMethods(call.name) or {}) do methods[method] = true end
    end
    methods_of[call.name] = methods
  end
  if not methods then
    local names = peripheral.getNames()
    return format("There is no peripheral %s; %s", call.name,
      #names == 0 and "nothing is attached." or "there are " .. listed(names) .. ".")
  end
  if not methods[call.method] then
    local names = {}
    for name in pairs(methods) do names[#names + 1] = name end
    return format("%s has no method %s; it has %s.", call.name, call.method, listed(names))
  end
  return nil
end

-- Numbers, as `3, 7 to 50`.
local function ranges(numbers)
  local parts, at = {}, 1
  while at <= #numbers do
    local first = numbers[at]
    while numbers[at + 1] == numbers[at] + 1 do at = at + 1 end
    parts[#parts + 1] = first == numbers[at] and tostring(first) or format("%d to %d", first, numbers[at])
    at = at + 1
  end
  return concat(parts, ", ")
end

-- The arguments of a call, with the length that nulls among them leave.
local function given(call)
  local arguments, count = call.arguments or {}, 0
  for key in pairs(arguments) do
    if type(key) == "number" and key > count then count = key end
  end
  return arguments, count
end

--- `call-peripheral`.
local function call(arguments)
  local calls, results, methods_of = arguments.calls, json.array({}), {}
  local to_run = {}
  for i, one in ipairs(calls) do
    local problem = problem_of(one, methods_of)
    if problem then
      results[i] = { error = problem }
    else
      results[i] = {}
      to_run[#to_run + 1] = function()
        local list, count = given(one)
        results[i] = table.pack(pcall(peripheral.call, one.name, one.method, unpack(list, 1, count)))
      end
    end
  end
  if #to_run > 0 then parallel.waitForAll(unpack(to_run)) end

  local left, failed, errors, left_out = LONGEST, 0, {}, {}
  for i, result in ipairs(results) do
    -- Whole as long as there is room: of many long ones the last are left out, rather than the ends of all.
    local state = { left = left - LEAST * (#calls - i) }
    local before = state.left
    if result.error == nil and result[1] == false then
      result = { error = reason(tostring(result[2]):sub(1, ERROR + 1)) }
    end
    if result.error then
      result.error = #result.error <= ERROR and result.error or result.error:sub(1, ERROR) .. "..."
      if cost_of(result.error) > state.left then result.error = beginning_of(result.error, state.left) end
      state.left = state.left - cost_of(result.error)
      failed = failed + 1
      errors[failed] = format("%s.%s: %s", calls[i].name, calls[i].method, result.error)
      results[i] = result
    else
      local values = json.array({})
      for n = 2, result.n do values[n - 1] = plain(result[n], state, 1) end
      results[i] = { values = values }
      if state.is_cut and i > 1 then
        results[i] = { leftOut = true }
        left_out[#left_out + 1] = i
        state.left = before - LEAST
      elseif state.is_cut then
        results[i].cut = "There is more than fits: return a part of it by exec-lua."
      end
    end
    left = left - math.min(before - state.left, left)
  end
  if failed == #calls then
    local told = concat(errors, "\n")
    return nil, cost_of(told) > ERROR * 4 and beginning_of(told, ERROR * 4) or told
  end
  return {
    results = results, failed = failed > 0 and failed or nil,
    leftOut = #left_out > 0 and format("There was no room for what these answered: %s. They were called; where that "
      .. "changes nothing, call them again without the others.", ranges(left_out)) or nil,
  }
end

return { call = call }
