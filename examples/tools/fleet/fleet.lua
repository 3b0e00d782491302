-- fleet: runs on the host, and asks all linked computers at once.

local ON_EACH = [[
  local kind = turtle and "turtle" or pocket and "pocket computer" or "computer"
  return kind, fs.getFreeSpace("/"), turtle and turtle.getFuelLevel()
]]

local function report()
  local ids, labels = {}, {}
  for _, computer in ipairs(computers.list()) do
    if computer.linked then
      ids[#ids + 1] = computer.id
      labels[computer.id] = computer.label or "no label"
    end
  end
  progress("asking " .. #ids .. " computers", 0, #ids)

  local answers = computers.exec(ids, ON_EACH, { timeoutMs = 10000 })
  local lines = {}
  for _, id in ipairs(ids) do
    local answer, line = answers[id]
    if answer.ok then
      local kind, free, fuel = table.unpack(answer.returns, 1, 3)
      line = string.format("%s, %d bytes free%s", kind, free, fuel and ", fuel " .. tostring(fuel) or "")
    else
      line = answer.error
    end
    lines[#lines + 1] = string.format("%d (%s): %s", id, labels[id], line)
  end
  return #lines > 0 and table.concat(lines, "\n") or "No computer is linked."
end

return { report = report }
