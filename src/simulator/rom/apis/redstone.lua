-- redstone: what goes in and out at each side.
-- luacheck: globals redstone rs

local native = ...
local error = native.error
local land, check, lift = native.land, native.check, native.language.lift

local sides = { "bottom", "top", "back", "front", "right", "left" }
local known = {}
for _, side in ipairs(sides) do known[side] = true end

local function side_of(side)
  check(1, side, "string")
  return known[side] and side or error("bad argument #1 (unknown option " .. side .. ")")
end

redstone = {}

function redstone.getSides() return { table.unpack(sides) } end

function redstone.getAnalogInput(side) return (land.redstoneIn(side_of(side))) end

function redstone.getInput(side) return redstone.getAnalogInput(side) > 0 end

function redstone.getAnalogOutput(side) return (land.redstoneOut(side_of(side))) end

function redstone.getOutput(side) return redstone.getAnalogOutput(side) > 0 end

function redstone.setOutput(side, on)
  side = side_of(side)
  check(2, on, "boolean")
  land.putRedstone(side, on and 15 or 0)
end

function redstone.setAnalogOutput(side, level)
  side = side_of(side)
  check(2, level, "number")
  if level < 0 or level > 15 then error("Expected number in range 0-15") end
  land.putRedstone(side, math.floor(level))
end

function redstone.getBundledInput(side) return (select(2, land.redstoneIn(side_of(side)))) end

function redstone.getBundledOutput(side) return (select(2, land.redstoneOut(side_of(side)))) end

function redstone.setBundledOutput(side, colours)
  side = side_of(side)
  check(2, colours, "number")
  land.putRedstone(side, nil, math.floor(colours))
end

function redstone.testBundledInput(side, mask)
  side = side_of(side)
  check(2, mask, "number")
  return bit32.band(redstone.getBundledInput(side), mask) == mask
end

redstone.getAnalogueInput, redstone.getAnalogueOutput = redstone.getAnalogInput, redstone.getAnalogOutput
redstone.setAnalogueOutput = redstone.setAnalogOutput

for name, f in pairs(redstone) do redstone[name] = lift(f) end
rs = redstone
