--- Bytes, code points and JSON string escapes: how a Lua string crosses the link as pure ASCII, and comes back.
--
-- A Lua string is bytes. The link has three readings of it (src/wire/PROTOCOL.md, "Byte strings"):
--
--   * `text.TEXT` (version 1, and every hello): what is valid UTF-8 is written as its code points, a stray byte as the
--     code point of the same number; code points that arrive become UTF-8.
--   * `text.BYTES` (version 2): one code point U+0000 to U+00FF for each byte, both ways.
--   * `text.RAW` (version 2, in parts): the same, but bytes over 127 may also stand as they are.
--
-- What a program reads for itself is a fourth:
--
--   * `text.PLAIN`: bytes stand for themselves, and escapes become UTF-8.

local byte, char, find, format = string.byte, string.char, string.find, string.format
local gsub, sub = string.gsub, string.sub
local concat = table.concat
local floor = math.floor
local setmetatable, tonumber = setmetatable, tonumber

local text = {}

text.TEXT = "text"
text.BYTES = "bytes"
text.RAW = "raw"
text.PLAIN = "plain"

-- Everything but printable ASCII, the quote and the backslash; `[` and `]` match too and are left as they are. The
-- pattern is ASCII without classes, so it means the same in every Lua and locale.
local NOT_PLAIN = "[^ !#-Z^-~]"
local HIGH = "[\128-\255]"
local HIGH_RUN = "[\128-\255]+"
-- As NOT_PLAIN, but bytes over 126 are left as they are too.
local NOT_RAW = "[^ !#-Z^-\255]"
local NOT_ASCII = "[\127-\255]"
-- An escape, with hexadecimal digits that may belong to it: one pass over a string finds all of them.
local ESCAPE = "\\([\"\\/bfnrtu]?%x?%x?%x?%x?)"
local ESCAPE_BUT_UNICODE = "\\[^u]"
local HIGH_SURROGATE = "\\u[dD][89ABab]"
local NO_CONTROL = "^[ -\255]*$"

-- Strings with escapes are read by blocks, each of which is looked at as a whole: the first is small, as most strings
-- are, and each next one twice as long.
local FIRST_BLOCK, LAST_BLOCK = 256, 64 * 1024
-- An escape may begin this many bytes before a block's end and end in the next.
local UNFINISHED_ESCAPE = 5

local FIRST_HIGH_SURROGATE, FIRST_LOW_SURROGATE, AFTER_SURROGATES = 0xD800, 0xDC00, 0xE000
local FIRST_SUPPLEMENTARY, LAST_CODE_POINT = 0x10000, 0x10FFFF
local REPLACEMENT = 0xFFFD

-- What a JSON string holds in place of each byte: all of them, and those below 128 only.
local byte_escapes, ascii_escapes = {}, {}
for code = 0, 255 do
  if code < 32 or code >= 127 then
    byte_escapes[char(code)] = format("\\u%04x", code)
  end
end
byte_escapes["\n"], byte_escapes["\r"], byte_escapes["\t"] = "\\n", "\\r", "\\t"
byte_escapes["\""], byte_escapes["\\"] = "\\\"", "\\\\"
for code = 0, 127 do
  ascii_escapes[char(code)] = byte_escapes[char(code)]
end

-- What may follow a UTF-8 lead byte: how many bytes it announces, and the bounds of the second one, which exclude
-- overlong forms, surrogates and what lies beyond U+10FFFF (RFC 3629, section 4).
local function lead_of(first)
  if first >= 0xC2 and first <= 0xDF then return 2, 0x80, 0xBF end
  if first == 0xE0 then return 3, 0xA0, 0xBF end
  if first == 0xED then return 3, 0x80, 0x9F end
  if first >= 0xE1 and first <= 0xEF then return 3, 0x80, 0xBF end
  if first == 0xF0 then return 4, 0x90, 0xBF end
  if first >= 0xF1 and first <= 0xF3 then return 4, 0x80, 0xBF end
  if first == 0xF4 then return 4, 0x80, 0x8F end
  return nil
end

--- The code point that a string holds at a position, read as UTF-8.
-- @tparam string s
-- @tparam number at Where it begins.
-- @treturn number|nil The code point, or nil if no valid UTF-8 sequence begins there.
-- @treturn number The sequence's length in bytes (1 if it is invalid).
function text.code_point(s, at)
  local first = byte(s, at)
  if first < 0x80 then return first, 1 end
  local length, low, high = lead_of(first)
  if not length then return nil, 1 end
  local second = byte(s, at + 1)
  if not second or second < low or second > high then return nil, 1 end
  local code = (length == 2 and first - 0xC0 or length == 3 and first - 0xE0 or first - 0xF0) * 64 + second - 0x80
  for i = at + 2, at + length - 1 do
    local continuation = byte(s, i)
    if not continuation or continuation < 0x80 or continuation > 0xBF then return nil, 1 end
    code = code * 64 + continuation - 0x80
  end
  return code, length
end

--- A code point as UTF-8; surrogates and what lies beyond Unicode become U+FFFD.
-- @tparam number code
-- @treturn string
function text.utf8(code)
  if code > LAST_CODE_POINT or code >= FIRST_HIGH_SURROGATE and code < AFTER_SURROGATES then code = REPLACEMENT end
  if code < 0x80 then return char(code) end
  local last = 0x80 + code % 64
  local rest = floor(code / 64)
  if code < 0x800 then return char(0xC0 + rest, last) end
  local middle = 0x80 + rest % 64
  rest = floor(rest / 64)
  if code < FIRST_SUPPLEMENTARY then return char(0xE0 + rest, middle, last) end
  return char(0xF0 + floor(rest / 64), 0x80 + rest % 64, middle, last)
end

local function escape_code_point(code)
  if code < FIRST_SUPPLEMENTARY then return format("\\u%04x", code) end
  local offset = code - FIRST_SUPPLEMENTARY
  return format("\\u%04x\\u%04x", FIRST_HIGH_SURROGATE + floor(offset / 1024), FIRST_LOW_SURROGATE + offset % 1024)
end

local function escape_high_run(run)
  local parts, at = {}, 1
  while at <= #run do
    local code, length = text.code_point(run, at)
    parts[#parts + 1] = escape_code_point(code or byte(run, at))
    at = at + length
  end
  return concat(parts)
end

--- The inside of a JSON string (without its quotes), pure ASCII.
-- @tparam string s Any bytes.
-- @tparam string mode `text.TEXT` or `text.BYTES`.
-- @treturn string
function text.escape(s, mode)
  if mode == text.BYTES then return (gsub(s, NOT_PLAIN, byte_escapes)) end
  if mode == text.RAW then return (gsub(s, NOT_RAW, ascii_escapes)) end
  s = gsub(s, NOT_PLAIN, ascii_escapes)
  if find(s, HIGH) then s = gsub(s, HIGH_RUN, escape_high_run) end
  return s
end

--- JSON text whose strings were escaped as `text.RAW`, as if they had been as `text.BYTES`.
-- @tparam string raw
-- @treturn string ASCII.
function text.ascii(raw)
  return (gsub(raw, NOT_ASCII, byte_escapes))
end

--- Whether JSON text means the same read as `text.RAW` and as `text.BYTES`, which takes longer.
-- @tparam string s
-- @treturn boolean
function text.is_raw(s)
  return not find(s, HIGH) and not find(s, HIGH_SURROGATE)
end

-- Bytes over 127 that stand in a message as they are. The bridge means UTF-8, but a game before 1.109 hands each code
-- point up to U+00FF to Lua as one byte: what isn't UTF-8 is taken as that.
local function read_high_run(run, mode)
  local parts, at = {}, 1
  while at <= #run do
    local code, length = text.code_point(run, at)
    local piece
    if not code then
      piece = mode == text.BYTES and sub(run, at, at) or text.utf8(byte(run, at))
    elseif mode == text.BYTES and code <= 0xFF then
      piece = char(code)
    else
      piece = sub(run, at, at + length - 1)
    end
    parts[#parts + 1] = piece
    at = at + length
  end
  return concat(parts)
end

--- A stretch of a JSON string that holds no escapes, as the Lua string it stands for.
-- @tparam string raw
-- @tparam string mode
-- @treturn string
function text.read_raw(raw, mode)
  if mode == text.RAW or mode == text.PLAIN or not find(raw, HIGH) then return raw end
  return (gsub(raw, HIGH_RUN, function(run) return read_high_run(run, mode) end))
end

local SIMPLE_ESCAPES = {
  ["\""] = "\"", ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t",
}

local function hex_at(s, at)
  local digits = sub(s, at, at + 3)
  if not find(digits, "^%x%x%x%x$") then return nil end
  return tonumber(digits, 16)
end

--- The Lua string that one escape of a JSON string stands for.
-- @tparam string s
-- @tparam number at Where its backslash is.
-- @tparam string mode
-- @treturn string|nil Nil if it isn't an escape.
-- @treturn number Where what follows it begins.
function text.read_escape(s, at, mode)
  local letter = sub(s, at + 1, at + 1)
  if letter ~= "u" then return SIMPLE_ESCAPES[letter], at + 2 end
  local code = hex_at(s, at + 2)
  if not code then return nil, at end
  local after = at + 6
  if mode == text.BYTES and code <= 0xFF then return char(code), after end
  if code >= FIRST_HIGH_SURROGATE and code < FIRST_LOW_SURROGATE and sub(s, after, after + 1) == "\\u" then
    local low = hex_at(s, after + 2)
    if low and low >= FIRST_LOW_SURROGATE and low < AFTER_SURROGATES then
      code = FIRST_SUPPLEMENTARY + (code - FIRST_HIGH_SURROGATE) * 1024 + low - FIRST_LOW_SURROGATE
      after = after + 6
    end
  end
  return text.utf8(code), after
end

-- What stands for an escape, by all that ESCAPE captures of it: the digits after it are handed on.
local malformed = false
local unescaped = setmetatable({}, {
  __index = function(known, captured)
    local letter, rest = sub(captured, 1, 1), sub(captured, 2)
    local meaning
    if letter ~= "u" then
      meaning = SIMPLE_ESCAPES[letter] and SIMPLE_ESCAPES[letter] .. rest
    elseif #rest == 4 then
      local code = tonumber(rest, 16)
      meaning = code <= 0xFF and char(code) or text.utf8(code)
    end
    if not meaning then
      malformed = true
      return false
    end
    -- The many that have digits after them are not worth remembering.
    if #captured <= 2 or letter == "u" and sub(rest, 1, 2) == "00" then known[captured] = meaning end
    return meaning
  end,
})

-- Where a block's whole escapes end, and whether its string does too.
local function end_of_block(block)
  -- Of the same length, but any quote or backslash left is one that counts.
  local masked = gsub(block, ESCAPE_BUT_UNICODE, "__")
  local quote = find(masked, "\"", 1, true)
  if quote then return quote - 1, true end
  local unfinished = find(masked, "\\", #masked > UNFINISHED_ESCAPE and -UNFINISHED_ESCAPE or 1, true)
  return unfinished and unfinished - 1 or #block, false
end

--- The rest of a JSON string that is read as `text.RAW`.
-- @tparam string s
-- @tparam number at Where it begins, behind its quote.
-- @tparam function pause Called now and then.
-- @treturn string|nil Nil if it is malformed.
-- @treturn number|string Where what follows its closing quote begins, or what is wrong with it.
function text.read_raw_string(s, at, pause)
  local parts, size = {}, FIRST_BLOCK
  while true do
    -- CraftOS-PC copies a part of a string whenever it is looked at: `concat` makes it one of its own.
    local block = concat({ sub(s, at, at + size - 1) })
    local length, ends = end_of_block(block)
    if length < #block then block = sub(block, 1, length) end
    if not find(block, NO_CONTROL) then return nil, "a control character in a string" end
    malformed = false
    parts[#parts + 1] = gsub(block, ESCAPE, unescaped)
    if malformed then return nil, "an invalid escape in a string" end
    at = at + length
    if ends then return concat(parts), at + 1 end
    if length == 0 or at > #s then return nil, "a string does not end" end
    if size < LAST_BLOCK then size = size * 2 end
    pause()
  end
end

return text
