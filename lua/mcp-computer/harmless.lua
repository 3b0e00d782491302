--- Which handlers of the bridge's own tools change nothing: each is a function of a source, which is known by its hash.

local sha256 = require("mcp-computer.sha256")

local sub = string.sub
local next, type = next, type

local harmless = {}

-- By hash and function. The bridge fills in those of its own tools as it serves this program.
local HASHES = {}

--- @param hash
-- @param method
-- @treturn boolean Whether they are those of such a handler.
function harmless.is_listed(hash, method)
  return type(hash) == "string" and type(method) == "string" and HASHES[hash .. " " .. method] == true
end

--- @param hash
-- @treturn boolean Whether it is that of a source with such a handler.
function harmless.is_known(hash)
  if type(hash) ~= "string" then return false end
  for name in next, HASHES do
    if sub(name, 1, #hash + 1) == hash .. " " then return true end
  end
  return false
end

--- Whether a source is the one of a hash. What a bridge says of it is not believed.
-- @tparam string hash
-- @tparam string source
-- @treturn boolean
function harmless.is_source(hash, source)
  return sha256.hex(source) == hash
end

return harmless
