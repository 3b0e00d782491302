--- Which handlers of the bridge's own tools change nothing: each is a function of a source, which is known by its hash.

local sha256 = require("mcp-computer.sha256")

local harmless = {}

-- The functions by hash. The bridge fills in those of its own tools as it serves this program.
local HASHES = {}

--- @param hash
-- @param method
-- @treturn boolean Whether they are those of such a handler.
function harmless.is_listed(hash, method)
  local methods = HASHES[hash]
  return methods ~= nil and methods[method] == true
end

--- @param hash
-- @treturn boolean Whether it is that of a source with such a handler.
function harmless.is_known(hash)
  return HASHES[hash] ~= nil
end

--- Whether a source is the one of a hash. What a bridge says of it is not believed.
-- @tparam string hash
-- @tparam string source
-- @treturn boolean
function harmless.is_source(hash, source)
  return sha256.hex(source) == hash
end

return harmless
