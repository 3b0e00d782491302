-- fuel-report: asks all turtles by the tool `fuel`, and names first those that need some.

local linked = require("lib.linked")

local function report(arguments)
  local enough = arguments.enough or 500
  local ids, names = linked("turtle")
  if #ids == 0 then return "No turtle is linked." end

  local low, others = {}, {}
  local answers = computers.call(ids, "fuel", {}, { timeoutMs = 10000 })
  for _, id in ipairs(ids) do
    local answer = answers[id]
    local fuel = answer.ok and answer.returns[1]
    if not answer.ok then
      others[#others + 1] = names[id] .. ": " .. answer.error
    elseif type(fuel) ~= "table" then
      others[#others + 1] = names[id] .. ": needs none"
    elseif fuel.level < enough then
      low[#low + 1] = { level = fuel.level, line = string.format("%s: %d, LOW", names[id], fuel.level) }
    else
      others[#others + 1] = string.format("%s: %d", names[id], fuel.level)
    end
  end

  table.sort(low, function(one, other) return one.level < other.level end)
  local lines = { string.format("%d of %d turtles have less than %d.", #low, #ids, enough) }
  for _, turtle in ipairs(low) do lines[#lines + 1] = turtle.line end
  for _, line in ipairs(others) do lines[#lines + 1] = line end
  return table.concat(lines, "\n")
end

return { report = report }
