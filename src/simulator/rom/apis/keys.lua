-- keys: the numbers of the keys, as GLFW gives them, or as LWJGL 2 does in Minecraft 1.12.
-- luacheck: globals keys

local native = ...
local expect = native.expect

local glfw = {
  space = 32, apostrophe = 39, comma = 44, minus = 45, period = 46, slash = 47,
  semicolon = 59, equals = 61, leftBracket = 91, backslash = 92, rightBracket = 93, grave = 96,
  enter = 257, tab = 258, backspace = 259, insert = 260, delete = 261,
  right = 262, left = 263, down = 264, up = 265, pageUp = 266, pageDown = 267, home = 268, ["end"] = 269,
  capsLock = 280, scrollLock = 281, numLock = 282, printScreen = 283, pause = 284,
  numPadDecimal = 330, numPadDivide = 331, numPadMultiply = 332, numPadSubtract = 333, numPadAdd = 334,
  numPadEnter = 335, numPadEqual = 336,
  leftShift = 340, leftCtrl = 341, leftAlt = 342, leftSuper = 343,
  rightShift = 344, rightCtrl = 345, rightAlt = 346, menu = 348,
}

local lwjgl2 = {
  space = 57, apostrophe = 40, comma = 51, minus = 12, period = 52, slash = 53,
  semicolon = 39, equals = 13, leftBracket = 26, backslash = 43, rightBracket = 27, grave = 41,
  enter = 28, tab = 15, backspace = 14, insert = 210, delete = 211,
  right = 205, left = 203, down = 208, up = 200, pageUp = 201, pageDown = 209, home = 199, ["end"] = 207,
  capsLock = 58, scrollLock = 70, numLock = 69, pause = 197,
  numPadDecimal = 83, numPadDivide = 181, multiply = 55, numPadSubtract = 74, numPadAdd = 78, numPadEnter = 156,
  leftShift = 42, leftCtrl = 29, leftAlt = 56, rightShift = 54, rightCtrl = 157, rightAlt = 184,
}

local digits = { "one", "two", "three", "four", "five", "six", "seven", "eight", "nine" }

keys = {}

if native.os.lwjgl2Keys then
  for name, code in pairs(lwjgl2) do keys[name] = code end
  for row, first in pairs { qwertyuiop = 16, asdfghjkl = 30, zxcvbnm = 44 } do
    for n = 1, #row do keys[row:sub(n, n)] = first + n - 1 end
  end
  for n, name in ipairs(digits) do keys[name] = n + 1 end
  keys.zero = 11
  for n = 1, 10 do keys["f" .. n] = 58 + n end
  keys.f11, keys.f12 = 87, 88
  for n, code in pairs { [0] = 82, 79, 80, 81, 75, 76, 77, 71, 72, 73 } do keys["numPad" .. n] = code end
else
  for name, code in pairs(glfw) do keys[name] = code end
  for code = 65, 90 do keys[string.char(code):lower()] = code end
  keys.zero = 48
  for n, name in ipairs(digits) do keys[name] = 48 + n end
  for n = 1, 25 do keys["f" .. n] = 289 + n end
  for n = 0, 9 do keys["numPad" .. n] = 320 + n end
end

local name_of = {}
for name, code in pairs(keys) do name_of[code] = name end

-- Other spellings that programs use.
keys["return"] = keys.enter
keys.scollLock, keys.cimcumflex = keys.scrollLock, keys.circumflex

function keys.getName(code)
  expect(1, code, "number")
  return name_of[code]
end
