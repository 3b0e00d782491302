--- Handlers of tools that a bridge ships here once: each is kept by its hash, until there is no room for it.

local setmetatable, type = setmetatable, type
local remove = table.remove

local handlers = {}
handlers.__index = handlers

--- Bytes of source that are kept in all: as many as the longest handler has that a bridge reads.
handlers.LIMIT = 1024 * 1024
-- Longer hashes are none.
local HASH_LIMIT = 64

--- @treturn handlers
function handlers.new()
  return setmetatable({
    by_hash = {},  -- sources
    order = {},    -- hashes, the one that was used longest ago first
    size = 0,      -- bytes of all sources
  }, handlers)
end

local function move_to_end(order, hash)
  for i = 1, #order do
    if order[i] == hash then
      remove(order, i)
      break
    end
  end
  order[#order + 1] = hash
end

--- A source that is kept.
-- @tparam string hash
-- @treturn string|nil
function handlers:find(hash)
  local source = self.by_hash[hash]
  if source then move_to_end(self.order, hash) end
  return source
end

--- Keeps a source, and forgets those that were used longest ago if there is no room.
-- @tparam string hash
-- @tparam string source
function handlers:keep(hash, source)
  if type(hash) ~= "string" or #hash > HASH_LIMIT or #source > handlers.LIMIT then return end
  local known = self.by_hash[hash]
  if known then self.size = self.size - #known end
  self.by_hash[hash] = source
  self.size = self.size + #source
  move_to_end(self.order, hash)
  while self.size > handlers.LIMIT do
    local oldest = remove(self.order, 1)
    self.size = self.size - #self.by_hash[oldest]
    self.by_hash[oldest] = nil
  end
end

return handlers
