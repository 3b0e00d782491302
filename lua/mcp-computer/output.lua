--- What one job printed: all of it up to a bound, then its beginning and its end, with the bytes between counted.

local number = require("mcp-computer.number")

local sub = string.sub
local concat = table.concat

local output = {}
output.__index = output

--- The first bytes printed are kept up to here, the last ones up to `TAIL_LIMIT`: 96 KiB in all.
output.HEAD_LIMIT = 64 * 1024
output.TAIL_LIMIT = 32 * 1024

--- The line that stands where output is missing.
-- @tparam number bytes How many bytes are.
-- @treturn string
function output.gap(bytes)
  return "\n[... " .. number.format(bytes) .. " bytes of output left out ...]\n"
end

--- @treturn output An empty one.
function output.new()
  return setmetatable({
    total = 0,      -- bytes printed so far
    head = {},      -- pieces of the beginning
    head_size = 0,  -- their bytes
    tail = {},      -- pieces of the end, at indices first..last
    first = 1,
    last = 0,
    tail_size = 0,  -- their bytes: at most TAIL_LIMIT and one piece
  }, output)
end

--- Appends what was printed.
-- @tparam string piece
function output:write(piece)
  self.total = self.total + #piece
  local room = output.HEAD_LIMIT - self.head_size
  if room > 0 then
    local kept = #piece > room and sub(piece, 1, room) or piece
    self.head[#self.head + 1] = kept
    self.head_size = self.head_size + #kept
    piece = sub(piece, #kept + 1)
  end
  if #piece == 0 then return end
  if #piece > output.TAIL_LIMIT then piece = sub(piece, -output.TAIL_LIMIT) end
  self.last = self.last + 1
  self.tail[self.last] = piece
  self.tail_size = self.tail_size + #piece
  while self.tail_size - #self.tail[self.first] >= output.TAIL_LIMIT do
    self.tail_size = self.tail_size - #self.tail[self.first]
    self.tail[self.first] = nil
    self.first = self.first + 1
  end
end

--- All that is kept, with a line that counts what is not.
-- @treturn string
function output:text()
  local head = concat(self.head)
  if self.last < self.first then return head end
  local tail = sub(concat(self.tail, "", self.first, self.last), -output.TAIL_LIMIT)
  local dropped = self.total - #head - #tail
  if dropped == 0 then return head .. tail end
  return head .. output.gap(dropped) .. tail
end

return output
