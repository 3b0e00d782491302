-- Calls methods of peripherals side by side: those that take a tick take it together.

local reason = require("shared.errors").reason
local read_methods = require("shared.methods")
local plain = require("shared.plain")
local words = require("shared.words")

local concat, format = table.concat, string.format
local unpack = table.unpack or unpack

-- Characters of all values of an answer, and bytes of one error.
local LONGEST, ERROR = 32000, 1000
-- Characters that each result has at least, so that its place is there.
local LEAST = 40
-- Names that an error lists.
local NAMES = 20

-- Some names, in order.
local function listed(names)
  table.sort(names)
  return words.some(names, NAMES)
end

-- Why a call can't be made; nil if it can.
local function problem_of(call, methods_of)
  local methods = methods_of[call.name]
  if methods == nil then
    methods = false
    if peripheral.isPresent(call.name) then
      methods = read_methods(call.name)
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
      if plain.cost(result.error) > state.left then result.error = plain.beginning(result.error, state.left) end
      state.left = state.left - plain.cost(result.error)
      failed = failed + 1
      errors[failed] = format("%s.%s: %s", calls[i].name, calls[i].method, result.error)
      results[i] = result
    else
      local values = json.array({})
      for n = 2, result.n do values[n - 1] = plain.value(result[n], state) end
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
    return nil, plain.cost(told) > ERROR * 4 and plain.beginning(told, ERROR * 4) or told
  end
  return {
    results = results, failed = failed > 0 and failed or nil,
    leftOut = #left_out > 0 and format("There was no room for what these answered: %s. They were called; where that "
      .. "changes nothing, call them again without the others.", ranges(left_out)) or nil,
  }
end

return { call = call }
