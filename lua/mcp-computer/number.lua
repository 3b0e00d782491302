--- Numbers as text that reads back as the same number, in any Lua of the game and any locale.

local find, format, gsub, sub = string.find, string.format, string.gsub, string.sub
local floor, huge = math.floor, math.huge
local tonumber = tonumber

local number = {}

-- Beyond this, doubles no longer hold every whole number.
local FIRST_INEXACT = 2 ^ 53
-- `%d` is 32 bits wide where a C `long` is.
local SAFE_FOR_D = 2 ^ 31
-- Fewest digits first: 14 is what Lua shows, 17 is always enough.
local FLOAT_FORMATS = { "%.14g", "%.15g", "%.16g", "%.17g" }
-- From this many digits on, some games' `tonumber` overflows unless it sees a float.
local LONG_INTEGER = 16

--- Whether a number is neither NaN nor infinite.
-- @tparam number n
-- @treturn boolean
function number.is_finite(n)
  return n == n and n ~= huge and n ~= -huge
end

--- A finite number as digits valid in JSON and in Lua: a whole number without exponent up to 2^53, else the shortest
-- form that reads back the same.
-- @tparam number n
-- @treturn string
function number.format(n)
  if n == 0 then return 1 / n < 0 and "-0.0" or "0" end
  if n == floor(n) and n > -FIRST_INEXACT and n < FIRST_INEXACT then
    local whole = format((n > -SAFE_FOR_D and n < SAFE_FOR_D) and "%d" or "%.0f", n)
    if find(whole, "^%-?%d+$") then return whole end
  end
  local shown
  for i = 1, #FLOAT_FORMATS do
    shown = format(FLOAT_FORMATS[i], n)
    if tonumber(shown) == n then break end
  end
  return (gsub(shown, ",", "."))
end

--- What NaN and the infinities are called on the link.
-- @tparam number n
-- @treturn string `nan`, `inf` or `-inf`.
function number.name(n)
  if n ~= n then return "nan" end
  return n > 0 and "inf" or "-inf"
end

--- Reads the JSON number that begins at a position.
-- @tparam string s
-- @tparam number at
-- @treturn number|nil Nil if there is none.
-- @treturn number Where what follows it begins.
function number.read(s, at)
  local _, last = find(s, "^%-?[1-9]%d*", at)
  if not last then
    _, last = find(s, "^%-?0", at)
    if not last then return nil, at end
  end
  local whole = last
  local _, fraction = find(s, "^%.%d+", last + 1)
  last = fraction or last
  local _, exponent = find(s, "^[eE][+-]?%d+", last + 1)
  last = exponent or last
  local token = sub(s, at, last)
  if last == whole and last - at >= LONG_INTEGER then token = token .. "e0" end
  return tonumber(token), last + 1
end

return number
