-- restock: keeps how much of each item there should be, and tells what is short, by the tool `stock`.

local function restock(arguments)
  if arguments.item then
    if not arguments.atLeast then return nil, "Say how much of it there should be with `atLeast`; 0 forgets it." end
    if arguments.atLeast > 0 then
      store.set("least/" .. arguments.item, arguments.atLeast)
    else
      store.delete("least/" .. arguments.item)
    end
  end

  local stock = tools.call("stock")
  local lines = {}
  local keys = store.list("least/")
  for _, key in ipairs(keys) do
    local item, least = key:sub(#"least/" + 1), store.get(key)
    local there = stock.items[item] or 0
    if there < least then
      lines[#lines + 1] = string.format("%s: %d, %d short of %d", item, there, least - there, least)
    end
  end
  table.insert(lines, 1, string.format("%d of %d items are short.", #lines, #keys))
  for _, line in ipairs(stock.silent) do lines[#lines + 1] = "not counted: " .. line end
  return table.concat(lines, "\n")
end

return { restock = restock }
