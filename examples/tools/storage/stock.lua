-- stock: adds up what is in all chests that any linked computer reaches.

local linked = require("lib.linked")

local function stock(arguments)
  local ids, names = linked()
  local wanted = arguments.item and arguments.item:lower()
  local items, seen, chests, silent = {}, {}, 0, {}

  local answers = computers.call(ids, "chests", {}, { timeoutMs = 10000 })
  for _, id in ipairs(ids) do
    local answer = answers[id]
    if not answer.ok then silent[#silent + 1] = names[id] .. ": " .. answer.error end
    for _, chest in ipairs(answer.ok and answer.returns[1].chests or {}) do
      -- A name by cable, such as minecraft:chest_3, is one chest, whoever reaches it. A side is another for each.
      local key = chest.name:find("_%d+$") and chest.name or id .. " " .. chest.name
      if not seen[key] then
        seen[key] = true
        chests = chests + 1
        for item, count in pairs(chest.items) do
          if not wanted or item:lower():find(wanted, 1, true) then items[item] = (items[item] or 0) + count end
        end
      end
    end
  end
  return { items = items, chests = chests, silent = json.array(silent) }
end

return { stock = stock }
