-- chests: what is in the chests and other inventories that a computer reaches, beside it or by cable.

local function call()
  local chests = {}
  for _, name in ipairs(peripheral.getNames()) do
    local methods = {}
    for _, method in ipairs(peripheral.getMethods(name) or {}) do methods[method] = true end
    -- Before CC:Tweaked 1.94 it takes another mod, such as Plethora, which has the same functions.
    if methods.list and methods.size then
      local items = {}
      for _, stack in pairs(peripheral.call(name, "list") or {}) do
        items[stack.name] = (items[stack.name] or 0) + stack.count
      end
      chests[#chests + 1] = { name = name, items = items }
    end
  end
  return { chests = chests }
end

return { call = call }
