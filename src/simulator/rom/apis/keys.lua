-- keys: the numbers of the keys, as GLFW gives them, or as LWJGL 2 does in Minecraft 1.12.
-- luacheck: globals keys

local native = ...
local expect = native.expect

keys = {}
local name_of = {}

for name, code in pairs(native.os.keys) do
  keys[name], name_of[code] = code, name
end

-- Other spellings that programs use.
keys["return"] = keys.enter
keys.scollLock, keys.cimcumflex = keys.scrollLock, keys.circumflex

function keys.getName(code)
  expect(1, code, "number")
  return name_of[code]
end
