-- todo: a list of things to do that outlives the conversation. Each has a key of its own, so that two assistants that
-- write at once don't lose one.

local function todo(arguments)
  local said
  if arguments.add then
    store.set(string.format("todo/%015d-%06d", os.epoch("utc"), math.random(0, 999999)), arguments.add)
    said = "Added."
  end
  local keys = store.list("todo/")
  if arguments.done then
    local key = keys[arguments.done]
    if not key then return nil, string.format("There is no %d in a list of %d.", arguments.done, #keys) end
    said = "Done: " .. store.get(key)
    store.delete(key)
    table.remove(keys, arguments.done)
  end

  local lines = { said }
  for number, key in ipairs(keys) do lines[#lines + 1] = number .. ". " .. store.get(key) end
  if #keys == 0 then lines[#lines + 1] = "Nothing is to be done." end
  return table.concat(lines, "\n")
end

return { todo = todo }
