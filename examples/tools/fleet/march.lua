-- march: drives many turtles at once, one step after the other, so that they keep together.

local linked = require("lib.linked")

-- Runs on each turtle: one step, and why it did not come about.
local STEP = [[
  local step = ...
  if not turtle[step] then return false, "it can't do that" end
  return turtle[step]()
]]

local function march(arguments)
  local ids, names = arguments.turtles, {}
  if ids then
    for _, id in ipairs(ids) do names[id] = tostring(id) end
  else
    ids, names = linked("turtle")
  end
  if #ids == 0 then return nil, "There is no turtle to drive." end

  local all, stopped = #ids, {}
  for number, step in ipairs(arguments.steps) do
    progress(string.format("step %d, %s: %d turtles", number, step, #ids), number - 1, #arguments.steps)
    local answers = computers.exec(ids, STEP, { exclusive = true, arguments = { step }, timeoutMs = 10000 })
    local going = {}
    for _, id in ipairs(ids) do
      local answer = answers[id]
      if answer.ok and answer.returns[1] then
        going[#going + 1] = id
      else
        local why = answer.ok and answer.returns[2] or answer.error or "no reason was told"
        stopped[#stopped + 1] = string.format("%s stopped at step %d, %s: %s", names[id], number, step, why)
      end
    end
    ids = going
    if #ids == 0 then break end
  end

  table.insert(stopped, 1, string.format("%d of %d turtles went all %d steps.", #ids, all, #arguments.steps))
  return table.concat(stopped, "\n")
end

return { march = march }
