-- Shows, sets or clears the computer's label.

local action, text = ...
if action == "get" or action == nil then
  local label = os.getComputerLabel()
  print(label and "Computer label is \"" .. label .. "\"" or "No Computer label")
elseif action == "set" and text then
  os.setComputerLabel(text)
  print("Computer label set to \"" .. text .. "\"")
elseif action == "clear" then
  os.setComputerLabel(nil)
  print("Computer label cleared")
else
  print("Usage: " .. (arg[0] or "label") .. " get | set <text> | clear")
end
