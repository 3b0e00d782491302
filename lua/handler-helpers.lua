--- What goes with a handler to an agent that gives handlers no `json`, `log` and `progress`: these, as far as they can
-- be had there. What the handler tells is printed, since that is all such an agent passes on.

local json = ...
local concat = table.concat
local clock = os.clock
local pcall, print, select = pcall, print, select
local setmetatable, tostring, type = setmetatable, tostring, type

-- How often a handler may print how far it has come, in seconds, and how many lines it may log.
local EVERY, LINES = 1, 200
-- Bytes of a text that is printed.
local LIMIT = 2 * 1024

local function print_text(text)
  print(#text > LIMIT and text:sub(1, LIMIT) .. "..." or text)
end

local count = 0

local function new_logger(level)
  return function(...)
    count = count + 1
    if count > LINES then return end
    local parts = {}
    for i = 1, select("#", ...) do
      local part = select(i, ...)
      local done, text
      if type(part) == "table" then done, text = pcall(json.encode, part) end
      parts[i] = done and text or tostring(part)
    end
    print_text("[" .. level .. "] " .. concat(parts, " "))
  end
end

local log = setmetatable({
  debug = new_logger("debug"), info = new_logger("info"), warn = new_logger("warning"), error = new_logger("error"),
}, { __call = function(self, ...) self.info(...) end })

local printed_at

local function progress(text, done, total)
  local now = clock()
  if printed_at and now < printed_at + EVERY then return end
  printed_at = now
  text = tostring(text)
  if type(done) == "number" then
    text = text .. " (" .. done .. (type(total) == "number" and " of " .. total or "") .. ")"
  end
  print_text(text)
end

return { null = json.null, array = json.array, encode = json.encode, decode = json.decode }, log, progress
