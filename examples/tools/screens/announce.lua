-- announce: shows a text on every monitor of every linked computer, and says it in the chat where there is a chat box.

local linked = require("lib.linked")

-- Runs on each computer: returns how many monitors and chat boxes it has.
local SHOW = [[
  local text = ...
  local monitors = { peripheral.find("monitor") }
  for _, monitor in ipairs(monitors) do
    monitor.setTextScale(2)
    monitor.clear()
    local width, height = monitor.getSize()
    for row = 1, math.min(height, math.ceil(#text / width)) do
      monitor.setCursorPos(1, row)
      monitor.write(text:sub((row - 1) * width + 1, row * width))
    end
  end
  local chat = peripheral.find("chatBox") or peripheral.find("chat_box")
  if chat then chat.sendMessage(text) end
  return #monitors, chat and 1 or 0
]]

local function announce(arguments)
  local ids, names = linked()
  local monitors, chats, lines = 0, 0, {}
  local answers = computers.exec(ids, SHOW, { arguments = { arguments.text }, timeoutMs = 10000 })
  for _, id in ipairs(ids) do
    local answer = answers[id]
    if answer.ok then
      monitors, chats = monitors + answer.returns[1], chats + answer.returns[2]
    else
      lines[#lines + 1] = names[id] .. ": " .. answer.error
    end
  end
  if monitors + chats == 0 then
    lines[#lines + 1] = "No linked computer has a monitor or a chat box."
    return nil, table.concat(lines, "\n")
  end
  table.insert(lines, 1, string.format("Monitors that show it: %d. Chat boxes that said it: %d.", monitors, chats))
  return table.concat(lines, "\n")
end

return { announce = announce }
