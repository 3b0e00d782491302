-- Shows what is in a file: lines of a text, or bytes as base64. What resources show comes from here too.

local base64 = require("shared.base64")
local errors = require("shared.errors")
local hash_of = require("shared.hash")
local misread = require("shared.misread")
local paths = require("shared.paths")
local texts = require("shared.texts")
local disk = require("parts.disk")
local raw = require("parts.raw")

local find, format, sub = string.find, string.format, string.sub
local floor = math.floor

-- Characters of an answer: clients cut or refuse longer ones.
local LONGEST = 40000

local function as_base64(path, text, from, room)
  local last = math.min(#text, from - 1 + floor(room / 4) * 3)
  local heading = format("%s: bytes %d to %d of %d, hash %s, as base64%s", path, from, last, #text, hash_of(text),
    last < #text and format("; go on with from %d", last + 1) or "")
  return heading .. "\n" .. base64.encode(sub(text, from, last))
end

--- `read-file`; with `raw`, which no client can give, what a resource shows.
local function read(arguments)
  local path, problem = paths.absolute(arguments.path), misread(arguments.path)
  if arguments.raw and problem then return arguments.from == "stamp" and { stamp = "none" } or { missing = true } end
  if arguments.raw then return raw(path, arguments.from or 1) end
  if problem then return nil, problem end
  local text
  text, problem = disk.contents_of(path)
  if not text then return nil, problem end
  local from, room = arguments.from or 1, (arguments.maxChars or LONGEST) - 300 - #path
  room = math.max(room, 100)
  if #text == 0 then return format("%s is empty, hash %s", path, hash_of(text)) end
  local in_bytes = arguments.base64 or texts.is_binary(text)
  local starts = in_bytes and { n = #text } or texts.lines_of(text)
  local count = in_bytes and #text or #starts - 1
  if from > count then
    return nil, format("%s has %d %s, so there is none to begin with from %d.", path, count,
      in_bytes and "bytes" or "lines", from)
  end
  if in_bytes then return as_base64(path, text, from, room) end

  local is_latin = not texts.is_utf8(text)
  -- What is no UTF-8 takes twice as much.
  if is_latin then room = floor(room / 2) end
  local last = from - 1
  while last < count and starts[last + 2] - starts[from] <= room do last = last + 1 end
  local heading = format("%s: %s, %d bytes, hash %s", path,
    from == 1 and last == count and count .. (count == 1 and " line" or " lines")
      or format("lines %d to %d of %d", from, math.max(last, from), count),
    #text, hash_of(text))
  if is_latin then heading = heading .. ", Latin-1, shown as UTF-8" end
  local stop = starts[last + 1] - 1
  if last < from then
    -- One line that is too long by itself.
    last = from
    stop = starts[from] - 1 + room
    while stop > starts[from] and find(sub(text, stop + 1, stop + 1), "[\128-\191]") do stop = stop - 1 end
    heading = heading .. format("; only the beginning of this line is here, the rest with base64 and from %d", stop + 1)
  end
  if last < count then heading = heading .. format("; go on with from %d", last + 1) end
  return heading .. "\n" .. texts.shown(sub(text, starts[from], stop))
end

return { read = errors.kept_short(read) }
