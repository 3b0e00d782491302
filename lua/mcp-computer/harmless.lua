--- Which handlers of the bridge's own tools change nothing: each is a function of a source, which is known by its hash.

local sha256 = require("mcp-computer.sha256")

local sub, type = string.sub, type

local harmless = {}

-- The functions by the first 32 digits of a hash: nobody can make another source with these. The bridge fills in those
-- of its own tools as it serves this program.
local HASHES = {}

-- The functions of a source that change nothing; false or nil: there are none.
local function methods_of(hash)
  return type(hash) == "string" and HASHES[sub(hash, 1, 32)]
end

--- @param hash
-- @param method
-- @treturn boolean Whether they are those of such a handler.
function harmless.is_listed(hash, method)
  local methods = methods_of(hash)
  return methods and methods[method] == true or false
end

--- @param hash
-- @treturn boolean Whether it is that of a source with such a handler.
function harmless.is_known(hash)
  return methods_of(hash) and true or false
end

--- Whether a source is the one of a hash. What a bridge says of it is not believed.
-- @tparam string hash
-- @tparam string source
-- @treturn boolean
function harmless.is_source(hash, source)
  return sha256.hex(source) == hash
end

return harmless
