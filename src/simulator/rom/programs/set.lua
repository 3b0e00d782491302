-- Lists, shows, sets or unsets settings.

local name, text = ...
if not name then
  local lines = {}
  for n, each in ipairs(settings.getNames()) do
    lines[n] = textutils.serialise(each) .. " is " .. tostring(settings.get(each))
  end
  textutils.pagedPrint(table.concat(lines, "\n"))
elseif text == nil then
  print(textutils.serialise(name) .. " is " .. textutils.serialise(settings.get(name)))
else
  local value = text
  if text == "true" then value = true elseif text == "false" then value = false
  elseif text == "nil" then value = nil elseif tonumber(text) then value = tonumber(text) end
  if value == nil then settings.unset(name) else settings.set(name, value) end
  settings.save(".settings")
  print(textutils.serialise(name) .. " set to " .. tostring(value))
end
