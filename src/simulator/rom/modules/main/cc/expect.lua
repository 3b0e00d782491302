-- cc.expect: checks the types of arguments and of fields.

local function described(...)
  local types = {}
  for n = 1, select("#", ...) do
    local name = select(n, ...)
    if name ~= "nil" then types[#types + 1] = tostring(name) end
  end
  if #types <= 1 then return types[1] or "nil" end
  return table.concat(types, ", ", 1, #types - 1) .. " or " .. types[#types]
end

local function accepts(value, ...)
  local found = type(value)
  for n = 1, select("#", ...) do
    if found == select(n, ...) then return true end
  end
  return false
end

-- The order of the words changed with 1.109; Java's own functions always had the newer one.
local wanted = tonumber(_HOST:match("ComputerCraft 1%.(%d+)")) >= 109 and "(%s expected, got %s)"
  or "(expected %s, got %s)"

local function expect(index, value, ...)
  if accepts(value, ...) then return value end
  local info = debug.getinfo(2, "n")
  local name = info and info.name
  local text = (name and "bad argument #%d to '%s' " or "bad argument #%d%s ") .. wanted
  error(text:format(index, name or "", described(...), type(value)), 3)
end

local function field(from, index, ...)
  local value = from[index]
  if accepts(value, ...) then return value end
  if value == nil then
    error(("field '%s' missing from table"):format(tostring(index)), 3)
  end
  error(("bad field '%s' " .. wanted):format(tostring(index), described(...), type(value)), 3)
end

local function range(number, low, high)
  expect(1, number, "number")
  low, high = low or -math.huge, high or math.huge
  if number ~= number or number < low or number > high then
    error(("number outside of range (expected %s to be within %s and %s)"):format(number, low, high), 3)
  end
  return number
end

return setmetatable({ expect = expect, field = field, range = range }, {
  __call = function(_, ...) return expect(...) end,
})
