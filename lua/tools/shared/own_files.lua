-- The agent's own files, by their paths.

return { ["/mcp-computer.lua"] = true, ["/startup/zz-mcp-computer.lua"] = true }
