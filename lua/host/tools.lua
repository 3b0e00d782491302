--- The module `tools`: what a handler on the host asks of other tools, of whatever source.

local ask_bridge, null = ...

local error, type = error, type

local tools = {}

--- Calls a tool that the client may call too: one on the host, in the game, or of an MCP server.
-- @tparam string name The tool's name.
-- @tparam[opt] table arguments Its arguments, by their names.
-- @tparam[opt] table options `timeoutMs` (20000).
-- @return What its handler returned; of a tool that is not in Lua, its structured content or its text. Throws what went
--   wrong.
function tools.call(name, arguments, options)
  if type(name) ~= "string" then
    error("bad argument #1 to 'tools.call': it must be a string, not a " .. type(name), 2)
  end
  if arguments ~= nil and type(arguments) ~= "table" then
    error("bad argument #2 to 'tools.call': it must be a table, not a " .. type(arguments), 2)
  end
  local done, answer = ask_bridge({ of = "tool", tool = name, arguments = arguments or {}, options = options })
  if not done then error(answer, 2) end
  if answer.value == null then return nil end
  return answer.value
end

return tools
