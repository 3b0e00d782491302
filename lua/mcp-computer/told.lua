--- What a handler tells whoever waits for it, beside what it prints: how far it has come, and lines for a log.
--
-- Of how far it has come the latest counts. Of lines only so many are taken, and only so many bytes wait: beyond that
-- the oldest are dropped, and what is told next says how many were.

local json = require("mcp-computer.json")
local number = require("mcp-computer.number")

local byte, sub = string.byte, string.sub
local concat, remove = table.concat, table.remove
local setmetatable = setmetatable

local told = {}
told.__index = told

--- Lines that one handler may log.
told.LINES = 200
--- Bytes of lines that wait to be taken, at most.
told.LIMIT = 8 * 1024
--- Bytes of one text; what is longer is cut.
told.TEXT_LIMIT = 2 * 1024

-- Lines are taken until they have this many bytes. With a full piece of output they still fit into a message, whatever
-- has to be escaped in them.
local AT_ONCE = 4 * 1024

local WARNING = "warning"

--- @treturn told Nothing yet.
function told.new()
  return setmetatable({
    lines = {},  -- {log, text}, those that wait
    bytes = 0,   -- of their texts
    count = 0,   -- lines so far, up to the first that is too many
    lost = 0,    -- lines dropped since some were taken
    -- step = nil: {progress, done, total}: how far the handler has come, if that waits
  }, told)
end

-- The beginning of a text that is too long; no character of UTF-8 is cut in two.
local function cut(text)
  if #text <= told.TEXT_LIMIT then return text end
  local length = told.TEXT_LIMIT
  for _ = 1, 3 do
    local after = byte(text, length + 1)
    if after >= 0x80 and after < 0xC0 then length = length - 1 end
  end
  -- In CraftOS-PC `sub` alone would keep all of it.
  return concat({ sub(text, 1, length), "... (", number.format(#text - length), " more bytes)" })
end

local function drop_oldest(self)
  self.bytes = self.bytes - #remove(self.lines, 1).text
end

local function add(self, level, text)
  self.lines[#self.lines + 1] = { log = level, text = text }
  self.bytes = self.bytes + #text
  while self.bytes > told.LIMIT do
    drop_oldest(self)
    self.lost = self.lost + 1
  end
end

--- Whether no more lines are taken.
-- @treturn boolean
function told:is_full()
  return self.count > told.LINES
end

--- Takes a line for the log.
-- @tparam string level `debug`, `info`, `warning` or `error`.
-- @tparam string text
function told:log(level, text)
  if self:is_full() then return end
  self.count = self.count + 1
  if self:is_full() then
    add(self, WARNING, "more than " .. told.LINES .. " lines were logged: the rest is not told")
  else
    add(self, level, cut(text))
  end
end

--- Takes how far the handler has come, in the place of what it said before.
-- @tparam string text What it does now.
-- @tparam[opt] number done How much is done.
-- @tparam[opt] number total How much there is to do.
function told:progress(text, done, total)
  self.step = { progress = cut(text), done = done, total = total }
end

--- @treturn boolean Whether nothing waits.
function told:is_empty()
  return not self.step and #self.lines == 0 and self.lost == 0
end

--- Takes out what is to be told next.
-- @treturn table|nil A JSON array; nil if there is nothing.
function told:take()
  local taken, size = {}, 0
  if self.lost > 0 then
    taken[1] = { log = WARNING, text = number.format(self.lost) .. " lines of the log were lost here" }
    self.lost = 0
  end
  while size < AT_ONCE and self.lines[1] do
    local line = self.lines[1]
    size = size + #line.text
    taken[#taken + 1] = line
    drop_oldest(self)
  end
  taken[#taken + 1] = self.step
  self.step = nil
  return taken[1] and json.array(taken)
end

return told
