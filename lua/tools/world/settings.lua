-- The settings of a computer, which its programs share.

local errors = require("shared.errors")

local game = settings
local find, format = string.find, string.format

-- Bytes of an answer, and of one value in a list.
local LONGEST, VALUE = 36000, 300
-- Those of the agent: what a person chose at that computer.
local OF_THE_AGENT = "mcp_computer."

local function encoded(value)
  local ok, text = pcall(json.encode, value)
  return ok and text or tostring(value)
end

local function of_the_agent(name)
  return find(name, OF_THE_AGENT, 1, true) == 1
end

local function list(part)
  local lines, length, left_out = {}, 100, 0
  for _, name in ipairs(game.getNames()) do
    if not part or find(name, part, 1, true) then
      local details = game.getDetails and game.getDetails(name) or { value = game.get(name), changed = true }
      local value = of_the_agent(name) and "(the agent's own)" or encoded(details.value)
      if #value > VALUE then value = value:sub(1, VALUE) .. "..." end
      local line = format("%s = %s%s%s", name, value, details.changed and "" or " (default)",
        details.description and "  -- " .. details.description or "")
      length = length + #line + 1
      if length > LONGEST then left_out = left_out + 1 else lines[#lines + 1] = line end
    end
  end
  local heading = format("%d settings%s.", #lines + left_out, part and " with " .. part .. " in their name" or "")
  if left_out > 0 then heading = heading .. format(" %d are not shown: narrow them down by name.", left_out) end
  table.insert(lines, 1, heading)
  return table.concat(lines, "\n")
end

local function save()
  if game.save(".settings") == false then return " It could not be saved, so it holds until the computer reboots." end
  return ""
end

--- `settings`.
local function act(arguments)
  local action, name = arguments.action, arguments.name
  if action == "list" then return list(name) end
  if not name then return nil, format("For %s a name is needed; list shows what there is.", action) end
  if of_the_agent(name) then
    return nil, format("%s is the agent's own: a person changes it, at that computer.", name)
  end
  if action == "get" then
    local value = game.get(name)
    if value == nil then return nil, format("%s is not set.", name) end
    local text = format("%s = %s", name, encoded(value))
    return #text <= LONGEST and text or text:sub(1, LONGEST) .. format("... (%d bytes)", #text)
  end
  if action == "unset" then
    if game.get(name) == nil then return format("%s is not set.", name) end
    game.unset(name)
    local now = game.get(name)
    return format("%s is unset%s.%s", name, now ~= nil and ", and by default " .. encoded(now) or "", save())
  end
  if arguments.value == nil then return nil, "Say which `value`." end
  local ok, problem = pcall(game.set, name, arguments.value)
  if not ok then
    return nil, format("%s was not set: %s.", name, errors.reason(problem))
  end
  return format("%s = %s.%s", name, encoded(game.get(name)), save())
end

return { settings = errors.kept_short(act) }
