-- What is attached to this computer, directly or by wired modems: each name, its types and what can be called on it.
local names = peripheral.getNames()
for _, name in ipairs(names) do
  local types = table.concat({ peripheral.getType(name) }, ", ")
  local methods = peripheral.getMethods(name) or {}
  table.sort(methods)
  print(name .. " (" .. types .. "): " .. table.concat(methods, ", "))
end
if #names == 0 then print("No peripheral is attached.") end
