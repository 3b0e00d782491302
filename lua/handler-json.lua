--- JSON that goes with a handler to an agent which has none for it; the game's own mangles bytes, and on Minecraft
-- 1.12.2 writes what is none. In what Lua 5.1 and 5.2 have in common.

local byte, char, find = string.byte, string.char, string.find
local format, gsub, match, sub = string.format, string.gsub, string.match, string.sub
local concat, floor, sort = table.concat, math.floor, table.sort
local error, getmetatable, next, pcall, rawequal = error, getmetatable, next, pcall, rawequal
local rawget, setmetatable, tonumber, tostring, type = rawget, setmetatable, tonumber, tostring, type
local huge = math.huge

local json = {}

json.null = setmetatable({}, {
  __tostring = function() return "null" end,
  __newindex = function() error("json.null can't be changed", 2) end,
  __metatable = "null",
})

--- How values are written: in ASCII, each byte as the code point of its number, and what is too deep as `null`.
json.BYTES = { escaped = "[^ !#-Z^-~]", deepest = 32 }
--- How they are written for a program: strings as they are, and what is too deep or too large is an error.
json.PLAIN = { escaped = "[^ !#-Z^-\255]", deepest = 64, is_strict = true }

-- Bytes of JSON that a program may have, about.
local LIMIT = 4 * 1024 * 1024

local MARK = {}
local ARRAY = { __metatable = MARK }

local function emit(out, piece)
  out[#out + 1] = piece
  out.size = out.size + #piece
  if out.how.is_strict and out.size > LIMIT then
    error("the value takes more than " .. LIMIT .. " bytes as JSON, which is as much as it may", 0)
  end
end

local function escape(c)
  return format("\\u%04x", byte(c))
end

local function write_string(out, s)
  emit(out, "\"" .. gsub(s, out.how.escaped, escape) .. "\"")
end

local function write_number(out, n)
  if n ~= n or n == huge or n == -huge then
    emit(out, "null")
  elseif n % 1 == 0 and n >= -2 ^ 53 and n <= 2 ^ 53 then
    emit(out, format("%.0f", n))
  else
    emit(out, gsub(format("%.17g", n), ",", ".") .. "")
  end
end

-- The length of a table that is marked as an array, or holds exactly the keys 1 to n; else nil.
local function length_of(t)
  local length, count = 0, 0
  while rawget(t, length + 1) ~= nil do length = length + 1 end
  if rawequal(getmetatable(t), MARK) then return length end
  for _ in next, t do count = count + 1 end
  return length > 0 and count == length and length or nil
end

local write

local function write_table(out, t, depth)
  local length = length_of(t)
  if length then
    for i = 1, length do
      emit(out, i == 1 and "[" or ",")
      write(out, rawget(t, i), depth)
    end
    emit(out, length == 0 and "[]" or "]")
    return
  end
  local names, values = {}, {}
  for key, value in next, t do
    local kind = type(key)
    if kind == "string" or kind == "number" or kind == "boolean" then
      local name = tostring(key)
      if values[name] == nil then names[#names + 1] = name end
      values[name] = value
    end
  end
  sort(names)
  emit(out, "{")
  for i = 1, #names do
    if i > 1 then emit(out, ",") end
    write_string(out, names[i])
    emit(out, ":")
    write(out, values[names[i]], depth)
  end
  emit(out, "}")
end

function write(out, value, depth)
  local kind = type(value)
  if kind == "string" then
    write_string(out, value)
  elseif kind == "number" then
    write_number(out, value)
  elseif kind == "boolean" then
    emit(out, tostring(value))
  elseif kind ~= "table" or rawequal(value, json.null) then
    emit(out, "null")
  elseif depth < out.how.deepest then
    write_table(out, value, depth + 1)
  elseif out.how.is_strict then
    error("the value holds tables inside more than " .. out.how.deepest .. " others, or a cycle", 0)
  else
    emit(out, "null")
  end
end

--- Writes a value.
-- @param value
-- @tparam table how `json.BYTES` or `json.PLAIN`.
-- @treturn string
-- @throws What is wrong with it, by `json.PLAIN`.
function json.write(value, how)
  local out = { how = how, size = 0 }
  write(out, value, 0)
  return concat(out)
end

--- Marks a table as a JSON array, so that an empty one is written `[]`.
function json.array(list)
  list = list or {}
  return rawequal(getmetatable(list), MARK) and list or setmetatable(list, ARRAY)
end

--- Writes a value for a program.
function json.encode(value)
  local done, text = pcall(json.write, value, json.PLAIN)
  if not done then error("json.encode: " .. text, 2) end
  return text
end

-- Reading. Each reader returns the value, and where what follows it begins.

local function skip(s, at)
  return match(s, "^[ \t\r\n]*()", at)
end

local function hex_at(s, at)
  local digits = match(s, "^%x%x%x%x", at)
  return digits and tonumber(digits, 16) or error("an invalid escape in a string", 0)
end

-- A code point as UTF-8; half a surrogate pair is none.
local function utf8(code)
  if code >= 0xD800 and code < 0xE000 then code = 0xFFFD end
  if code < 0x80 then return char(code) end
  local last, rest = 0x80 + code % 64, floor(code / 64)
  if code < 0x800 then return char(0xC0 + rest, last) end
  local middle, first = 0x80 + rest % 64, floor(rest / 64)
  if code < 0x10000 then return char(0xE0 + first, middle, last) end
  return char(0xF0 + floor(first / 64), 0x80 + first % 64, middle, last)
end

local ESCAPES = {
  ["\""] = "\"", ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t",
}

local function read_escape(s, at)
  local letter = sub(s, at + 1, at + 1)
  if letter ~= "u" then return ESCAPES[letter] or error("an invalid escape in a string", 0), at + 2 end
  local code, after = hex_at(s, at + 2), at + 6
  if code >= 0xD800 and code < 0xDC00 and sub(s, after, after + 1) == "\\u" then
    local low = hex_at(s, after + 2)
    if low >= 0xDC00 and low < 0xE000 then
      code, after = 0x10000 + (code - 0xD800) * 1024 + low - 0xDC00, after + 6
    end
  end
  return utf8(code), after
end

local function read_string(s, at)
  local parts = {}
  at = at + 1
  while true do
    local stop = find(s, "[\"\\]", at) or error("a string does not end", 0)
    local raw = sub(s, at, stop - 1)
    if find(raw, "[^ -\255]") then error("a control character in a string", 0) end
    parts[#parts + 1] = raw
    if byte(s, stop) == byte("\"") then return concat(parts), stop + 1 end
    parts[#parts + 1], at = read_escape(s, stop)
  end
end

local function read_number(s, at)
  local token = match(s, "^%-?%d+%.?%d*[eE]?[+-]?%d*", at)
  local value = token and not find(token, "^%-?0%d") and not find(token, "%.$") and not find(token, "%.[eE]")
    -- With so many digits some games' `tonumber` needs to see a float.
    and tonumber(#token > 15 and not find(token, "[.eE]") and token .. "e0" or token)
  return value or error("no value at character " .. at, 0), at + #token
end

local read

-- What stands between a bracket and its end; `read_item` reads one item at a position.
local function read_items(s, at, last, read_item)
  at = skip(s, at + 1)
  if sub(s, at, at) == last then return at + 1 end
  while true do
    at = skip(s, read_item(at))
    local mark = sub(s, at, at)
    if mark == last then return at + 1 end
    if mark ~= "," then error("a comma or '" .. last .. "' is missing at character " .. at, 0) end
    at = skip(s, at + 1)
  end
end

local function read_array(s, at, depth)
  local list, count = json.array(), 0
  return list, read_items(s, at, "]", function(from)
    local value, after = read(s, from, depth)
    count = count + 1
    list[count] = value
    return after
  end)
end

local function read_object(s, at, depth)
  local object = {}
  return object, read_items(s, at, "}", function(from)
    if sub(s, from, from) ~= "\"" then error("an object's key is not a string", 0) end
    local key, after = read_string(s, from)
    after = skip(s, after)
    if sub(s, after, after) ~= ":" then error("an object lacks a colon", 0) end
    local value
    value, after = read(s, skip(s, after + 1), depth)
    if not rawequal(value, json.null) then object[key] = value end
    return after
  end)
end

function read(s, at, depth)
  local mark = sub(s, at, at)
  if mark == "{" or mark == "[" then
    if depth >= json.PLAIN.deepest then error("nested too deep", 0) end
    return (mark == "{" and read_object or read_array)(s, at, depth + 1)
  end
  if mark == "\"" then return read_string(s, at) end
  if sub(s, at, at + 3) == "true" then return true, at + 4 end
  if sub(s, at, at + 4) == "false" then return false, at + 5 end
  if sub(s, at, at + 3) == "null" then return json.null, at + 4 end
  return read_number(s, at)
end

local function read_whole(s)
  local value, after = read(s, skip(s, 1), 0)
  if skip(s, after) <= #s then error("something follows the value", 0) end
  return value
end

--- Reads JSON for a program: `null` is nil in objects, and `json.null` elsewhere.
function json.decode(text)
  local done, value = pcall(read_whole, tostring(text))
  if not done then error("json.decode: " .. tostring(value), 2) end
  return value
end

return json
