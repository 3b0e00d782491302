-- What comes in and goes out on the sides of a computer.

local game = redstone

-- The names of the colours in a bundle.
local function names_in(bundle)
  local names = {}
  for name, value in pairs(colors) do
    if type(value) == "number" and colors.test(bundle, value) then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

--- The signals of these sides, and what bundled cables there have.
return function(sides)
  local answer = { input = {}, output = {}, bundledInput = {}, bundledOutput = {} }
  for _, side in ipairs(sides) do
    answer.input[side], answer.output[side] = game.getAnalogInput(side), game.getAnalogOutput(side)
    for into, bundle in pairs({
      bundledInput = game.getBundledInput(side), bundledOutput = game.getBundledOutput(side),
    }) do
      if bundle ~= 0 then answer[into][side] = names_in(bundle) end
    end
  end
  if not next(answer.bundledInput) then answer.bundledInput = nil end
  if not next(answer.bundledOutput) then answer.bundledOutput = nil end
  return answer
end
