-- The tool NAME. It runs beside mcp-bridge, without files and network: `computers`, `json`, `log` and `progress` are
-- what it can use beside Lua itself.

local function call(arguments)
  return "You said: " .. arguments.text
end

return { call = call }
