-- All items in the chests and other inventories that this computer reaches, and in a turtle's own slots.
local totals = {}

local function count(item)
  totals[item.name] = (totals[item.name] or 0) + item.count
end

for _, name in ipairs(peripheral.getNames()) do
  local inventory = peripheral.wrap(name)
  if inventory and inventory.list and inventory.size then
    for _, item in pairs(inventory.list()) do count(item) end
  end
end
if turtle then
  for slot = 1, 16 do
    local item = turtle.getItemDetail(slot)
    if item then count(item) end
  end
end

local names = {}
for name in pairs(totals) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do print(totals[name] .. "  " .. name) end
if #names == 0 then print("No items.") end
