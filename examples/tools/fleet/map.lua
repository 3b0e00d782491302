-- fleet://map: where all computers are, seen from above, with the last known place of those that don't answer.

local linked = require("lib.linked")

local WIDTH, HEIGHT = 40, 12

-- The places by number: asked now, and kept for when a computer is away. Read-only, nothing is kept.
local function places()
  local ids = linked()
  local found = {}
  for id, answer in pairs(computers.call(ids, "position", {}, { timeoutMs = 5000 })) do
    if answer.ok then
      found[id] = answer.returns[1]
      pcall(store.set, "place/" .. id, answer.returns[1])
    end
  end
  return found
end

-- A grid with each computer's mark; north is above.
local function grid(shown)
  local low_x, high_x, low_z, high_z = math.huge, -math.huge, math.huge, -math.huge
  for _, at in ipairs(shown) do
    low_x, high_x = math.min(low_x, at.x), math.max(high_x, at.x)
    low_z, high_z = math.min(low_z, at.z), math.max(high_z, at.z)
  end
  local scale = math.max((high_x - low_x) / (WIDTH - 1), (high_z - low_z) / (HEIGHT - 1), 1)
  local rows = {}
  for row = 1, math.floor((high_z - low_z) / scale) + 1 do rows[row] = string.rep(".", WIDTH) end
  for _, at in ipairs(shown) do
    local column, row = math.floor((at.x - low_x) / scale) + 1, math.floor((at.z - low_z) / scale) + 1
    rows[row] = rows[row]:sub(1, column - 1) .. at.mark .. rows[row]:sub(column + 1)
  end
  return string.format("```\n%s\n```\nScale: 1 to %.0f blocks.", table.concat(rows, "\n"), scale)
end

local function map()
  local now, shown = places(), {}
  local lines = { "| | computer | x | y | z | |", "| --- | --- | --- | --- | --- | --- |" }
  for _, computer in ipairs(computers.list()) do
    local at = now[computer.id] or store.get("place/" .. computer.id)
    local name, state = computer.label or computer.id, now[computer.id] and "now" or "last known"
    if at then
      local mark = string.char(65 + #shown % 26)
      shown[#shown + 1] = { x = at.x, z = at.z, mark = mark }
      lines[#lines + 1] = string.format("| %s | %s | %d | %d | %d | %s |", mark, name, at.x, at.y, at.z, state)
    else
      lines[#lines + 1] = string.format("| | %s | | | | no GPS |", name)
    end
  end
  if #shown == 0 then return table.concat(lines, "\n") end
  return table.concat(lines, "\n") .. "\n\n" .. grid(shown)
end

return { map = map }
