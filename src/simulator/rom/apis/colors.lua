-- colors and colours: the sixteen colours, sets of them, and their place in RGB.
-- luacheck: globals colors colours

local native = ...
local expect = native.expect

local names = {
  "white", "orange", "magenta", "lightBlue", "yellow", "lime", "pink", "gray", "lightGray", "cyan", "purple", "blue",
  "brown", "green", "red", "black",
}

colors = {}
for n, name in ipairs(names) do colors[name] = 2 ^ (n - 1) end

function colors.combine(...)
  local set = 0
  for n = 1, select("#", ...) do
    local colour = select(n, ...)
    expect(n, colour, "number")
    set = bit32.bor(set, colour)
  end
  return set
end

function colors.subtract(set, ...)
  expect(1, set, "number")
  for n = 1, select("#", ...) do
    local colour = select(n, ...)
    expect(n + 1, colour, "number")
    set = bit32.band(set, bit32.bnot(colour))
  end
  return set
end

function colors.test(set, colour)
  expect(1, set, "number")
  expect(2, colour, "number")
  return bit32.band(set, colour) == colour
end

function colors.packRGB(r, g, b)
  expect(1, r, "number")
  expect(2, g, "number")
  expect(3, b, "number")
  local function byte(part) return bit32.band(math.floor(part * 255), 0xff) end
  return byte(r) * 0x10000 + byte(g) * 0x100 + byte(b)
end

function colors.unpackRGB(rgb)
  expect(1, rgb, "number")
  local function part(shift) return bit32.band(bit32.rshift(rgb, shift), 0xff) / 255 end
  return part(16), part(8), part(0)
end

function colors.rgb8(r, g, b)
  if g == nil and b == nil then return colors.unpackRGB(r) end
  return colors.packRGB(r, g, b)
end

function colors.toBlit(colour)
  expect(1, colour, "number")
  local number = math.floor(math.log(colour, 2) + 1e-9)
  if number < 0 or number > 15 then error("Colour out of range", 2) end
  return ("%x"):format(number)
end

function colors.fromBlit(digit)
  expect(1, digit, "string")
  local number = #digit == 1 and tonumber(digit, 16)
  return number and 2 ^ number or nil
end

colours = {}
for name, value in pairs(colors) do colours[name] = value end
colours.grey, colours.lightGrey = colours.gray, colours.lightGray
colours.gray, colours.lightGray = nil, nil
