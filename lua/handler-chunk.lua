--- What goes with a handler to an agent that runs plain code only: it calls the handler, and writes what that returns
-- as one string of JSON in ASCII, which every link carries unharmed. In what Lua 5.1 and 5.2 have in common.

local json = ...
local concat = table.concat
local error, select, type = error, select, type

local function pack_and_encode(...)
  local out = {}
  for i = 1, select("#", ...) do out[i] = json.write((select(i, ...)), json.BYTES) end
  return "[" .. concat(out, ",") .. "]"
end

--- Calls a handler.
-- @tparam function chunk The handler's source.
-- @tparam string|nil method The function of the table that it returns; nil: it is called itself.
-- @treturn string The values it returns, as a JSON array.
return function(chunk, method, ...)
  if not method then return pack_and_encode(chunk(...)) end
  local exports = chunk()
  if type(exports) ~= "table" or type(exports[method]) ~= "function" then
    error("the handler must return a table with the function '" .. method .. "'", 0)
  end
  return pack_and_encode(exports[method](...))
end
