-- redstone: every side is dark, and what is put out lights nothing.
-- luacheck: globals redstone rs

local native = ...
local error = native.error
local check, lift = native.check, native.language.lift

local sides = { "bottom", "top", "back", "front", "right", "left" }
local outputs = {}

local function side_of(side)
  check(1, side, "string")
  for _, known in ipairs(sides) do
    if side == known then return side end
  end
  error("bad argument #1 (unknown option " .. side .. ")")
end

redstone = {}

function redstone.getSides() return { table.unpack(sides) } end

function redstone.getInput(side) return side_of(side) == nil end

function redstone.getOutput(side) return (outputs[side_of(side)] or 0) > 0 end

function redstone.setOutput(side, on)
  side = side_of(side)
  check(2, on, "boolean")
  outputs[side] = on and 15 or 0
end

function redstone.getAnalogInput(side) return side_of(side) and 0 end

function redstone.getAnalogOutput(side) return outputs[side_of(side)] or 0 end

function redstone.setAnalogOutput(side, level)
  side = side_of(side)
  check(2, level, "number")
  if level < 0 or level > 15 then error("Expected number in range 0-15") end
  outputs[side] = level
end

redstone.getAnalogueInput, redstone.getAnalogueOutput = redstone.getAnalogInput, redstone.getAnalogOutput
redstone.setAnalogueOutput = redstone.setAnalogOutput

function redstone.getBundledInput(side) return side_of(side) and 0 end

function redstone.getBundledOutput(side) return side_of(side) and 0 end

function redstone.testBundledInput(side) return side_of(side) == nil end

native.missing("redstone", redstone, "setBundledOutput")
for name, f in pairs(redstone) do redstone[name] = lift(f) end
rs = redstone
