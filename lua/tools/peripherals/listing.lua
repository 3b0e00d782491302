-- What is attached to a computer: names, types and methods.

-- Characters of an answer, about, which clients take.
local LONGEST = 34000

-- What a method says; nil if there is no such, or it fails. None of those that are asked here takes a tick.
local function said_by(name, method, methods)
  if not methods[method] then return nil end
  local ok, value = pcall(peripheral.call, name, method)
  if ok then return value end
  return nil
end

local function methods_of(name)
  local methods, has = peripheral.getMethods(name) or {}, {}
  table.sort(methods)
  for _, method in ipairs(methods) do has[method] = true end
  return methods, has
end

local function fits(name, types, query)
  if not query or name:lower():find(query, 1, true) then return true end
  for _, kind in ipairs(types) do
    if kind:lower():find(query, 1, true) then return true end
  end
  return false
end

local function described(name, types, has)
  local entry = { name = name, types = types }
  if has.isWireless then
    entry.wireless = said_by(name, "isWireless", has)
    entry.thisComputerOnTheNetwork = said_by(name, "getNameLocal", has)
  end
  if has.turnOn and has.getID then
    entry.computerId = said_by(name, "getID", has)
    entry.label = said_by(name, "getLabel", has)
    entry.isOn = said_by(name, "isOn", has)
  end
  return entry
end

--- `list-peripherals`: each with its name and types, and the methods by the types, since those of a type have the same.
local function list(arguments)
  local query = arguments.query and arguments.query:lower()
  local names = peripheral.getNames()
  table.sort(names)
  local listed, by_type, left_out, length = json.array({}), {}, 0, 0
  for _, name in ipairs(names) do
    local types = { peripheral.getType(name) }
    if fits(name, types, query) then
      local methods, has = methods_of(name)
      local kind, all = table.concat(types, ", "), table.concat(methods, ", ")
      local size = #name + #kind + 8 * #types + 140
      if by_type[kind] ~= all then size = size + #kind + #all end
      if length + size > LONGEST then
        left_out = left_out + 1
      else
        length = length + size
        local entry = described(name, types, has)
        by_type[kind] = by_type[kind] or all
        if by_type[kind] ~= all then entry.methods = all end
        listed[#listed + 1] = entry
      end
    end
  end
  local answer = { peripherals = listed, methods = by_type }
  if left_out > 0 then answer.leftOut = left_out .. " more: narrow them down by query." end
  if #listed == 0 then
    answer.methods = nil
    answer.note = #names == 0 and "Nothing is attached: peripherals stand beside the computer, or hang on a cable by "
      .. "wired modems that are switched on (a right click makes them red)."
      or #names .. " are attached, and none fits the query."
  end
  return answer
end

return { list = list }
