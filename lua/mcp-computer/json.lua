--- The link's JSON: linear in time, ASCII on the wire, and never an error, whatever the table or the text.
--
-- The game's own `textutils` can't be used: it mangles bytes, emits invalid JSON on Minecraft 1.12.2, refuses functions
-- and repeated tables, and takes time that grows with the square of the size.

local number = require("mcp-computer.number")
local text = require("mcp-computer.text")

local byte, find, sub = string.byte, string.find, string.sub
local concat, sort = table.concat, table.sort
local error, getmetatable, next, rawequal, rawget = error, getmetatable, next, rawequal, rawget
local setmetatable, tostring, type = setmetatable, tostring, type

local json = {}

json.TEXT = text.TEXT
json.BYTES = text.BYTES
json.RAW = text.RAW
json.PLAIN = text.PLAIN

--- Stands for JSON's `null`, where a Lua nil would be lost.
json.null = setmetatable({}, {
  __tostring = function() return "null" end,
  __newindex = function() error("json.null can't be changed", 2) end,
  __metatable = "null",
})

--- Deeper values are cut (writing) or refused (reading).
json.MAX_DEPTH = 64

local MAX_DEPTH = json.MAX_DEPTH
-- Bytes of a string that are escaped at once.
local BLOCK = 64 * 1024
-- Values that are read at once.
local VALUES_WITHOUT_PAUSE = 1024

-- What a JSON array shows as its metatable: user code gets such tables, and is not to change the metatable itself.
local MARK = {}
local ARRAY = { __metatable = MARK }

local function is_marked(t)
  return rawequal(getmetatable(t), MARK)
end

--- Marks a table as a JSON array, so that an empty one is written `[]`.
-- @tparam table t
-- @treturn table The same table.
-- @throws It has a metatable that can't be changed.
function json.array(t)
  return is_marked(t) and t or setmetatable(t, ARRAY)
end

-- The length of a table that is to be an array, or nil if it is to be an object.
local function array_length(t)
  local length = 0
  while rawget(t, length + 1) ~= nil do length = length + 1 end
  if is_marked(t) then return length end
  if length == 0 then return nil end
  local count = 0
  for _ in next, t do count = count + 1 end
  return count == length and length or nil
end

local function key_text(key)
  local kind = type(key)
  if kind == "string" then return key end
  if kind == "number" then return number.is_finite(key) and number.format(key) or number.name(key) end
  if kind == "boolean" then return tostring(key) end
  return nil -- a key that has no name in JSON: the entry is left out
end

local function no_pause() end

-- Long strings are escaped piece by piece, but as text, where a character must not be cut.
local function write_string(out, s)
  out[#out + 1] = "\""
  if #s <= BLOCK or out.mode == json.TEXT then
    out[#out + 1] = text.escape(s, out.mode)
  else
    for at = 1, #s, BLOCK do
      out[#out + 1] = text.escape(sub(s, at, at + BLOCK - 1), out.mode)
      out.pause()
    end
  end
  out[#out + 1] = "\""
end

local write

-- `out` is what has been written so far, in pieces, and how: `mode`, `pause`, and the tables that are open in `path`.
local function write_array(out, t, length, depth)
  out[#out + 1] = "["
  for i = 1, length do
    if i > 1 then out[#out + 1] = "," end
    write(out, rawget(t, i), depth)
  end
  out[#out + 1] = "]"
end

local function write_object(out, t, depth)
  local names, values = {}, {}
  for key, value in next, t do
    local name = key_text(key)
    if name and values[name] == nil then
      names[#names + 1] = name
      values[name] = value
    end
  end
  sort(names)
  out[#out + 1] = "{"
  for i = 1, #names do
    if i > 1 then out[#out + 1] = "," end
    write_string(out, names[i])
    out[#out + 1] = ":"
    write(out, values[names[i]], depth)
  end
  out[#out + 1] = "}"
end

function write(out, value, depth)
  local kind = type(value)
  if kind == "string" then
    write_string(out, value)
  elseif kind == "number" and number.is_finite(value) then
    out[#out + 1] = number.format(value)
  elseif kind == "boolean" then
    out[#out + 1] = value and "true" or "false"
  elseif kind == "table" and not rawequal(value, json.null) and not out.path[value] and depth < MAX_DEPTH then
    out.path[value] = true
    local length = array_length(value)
    if length then
      write_array(out, value, length, depth + 1)
    else
      write_object(out, value, depth + 1)
    end
    out.path[value] = nil
  else
    out[#out + 1] = "null" -- nil, NaN, infinities, functions, cycles, and what is too deep
  end
end

--- Writes a value as JSON. What JSON can't say (functions, NaN, infinities, cycles) becomes `null`.
--
-- A table is an array if it is marked by @{json.array} or holds exactly the keys 1 to n; any other is an object, with
-- its keys in order.
-- @param value
-- @tparam[opt] string mode How strings are written: `json.TEXT` (default), `json.BYTES` or `json.RAW`.
-- @tparam[opt] function pause Called now and then while long strings are written.
-- @treturn string ASCII, but for `json.RAW`.
function json.encode(value, mode, pause)
  local out = { mode = mode or json.TEXT, pause = pause or no_pause, path = {} }
  write(out, value, 0)
  return concat(out)
end

local function skip_space(s, at)
  local _, last = find(s, "^[ \t\r\n]*", at)
  return last + 1
end

-- JSON strings hold no raw control characters. (`%c` finds a few more, which are allowed.)
local function has_control(raw)
  local at = find(raw, "%c")
  while at do
    if byte(raw, at) < 32 then return true end
    at = find(raw, "%c", at + 1)
  end
  return false
end

-- Readers return the value and where what follows it begins, or nil and an error. `how` holds `mode` and `pause`.
local function read_string(s, at, how)
  local mode = how.mode
  local parts = {}
  at = at + 1
  while true do
    local stop = find(s, "[\"\\]", at)
    if not stop then return nil, "a string does not end" end
    if stop > at then
      local raw = sub(s, at, stop - 1)
      if has_control(raw) then return nil, "a control character in a string" end
      parts[#parts + 1] = text.read_raw(raw, mode)
    end
    if byte(s, stop) == 34 then return concat(parts), stop + 1 end
    if mode == json.RAW then
      local rest, after = text.read_raw_string(s, stop, how.pause)
      if not rest then return nil, after end
      parts[#parts + 1] = rest
      return concat(parts), after
    end
    local piece, after = text.read_escape(s, stop, mode)
    if not piece then return nil, "an invalid escape in a string" end
    parts[#parts + 1] = piece
    at = after
  end
end

local read

local function read_array(s, at, how, depth)
  local result, count = json.array({}), 0
  at = skip_space(s, at + 1)
  if sub(s, at, at) == "]" then return result, at + 1 end
  while true do
    local value, after = read(s, at, how, depth)
    if value == nil then return nil, after end
    count = count + 1
    result[count] = value
    at = skip_space(s, after)
    local mark = sub(s, at, at)
    if mark == "]" then return result, at + 1 end
    if mark ~= "," then return nil, "an array lacks a comma or its end" end
    at = skip_space(s, at + 1)
  end
end

local function read_object(s, at, how, depth)
  local result = {}
  at = skip_space(s, at + 1)
  if sub(s, at, at) == "}" then return result, at + 1 end
  while true do
    if sub(s, at, at) ~= "\"" then return nil, "an object's key is not a string" end
    local key, after = read_string(s, at, how)
    if not key then return nil, after end
    at = skip_space(s, after)
    if sub(s, at, at) ~= ":" then return nil, "an object lacks a colon" end
    local value
    value, after = read(s, skip_space(s, at + 1), how, depth)
    if value == nil then return nil, after end
    if how.mode ~= json.PLAIN or not rawequal(value, json.null) then result[key] = value end
    at = skip_space(s, after)
    local mark = sub(s, at, at)
    if mark == "}" then return result, at + 1 end
    if mark ~= "," then return nil, "an object lacks a comma or its end" end
    at = skip_space(s, at + 1)
  end
end

function read(s, at, how, depth)
  how.count = how.count + 1
  if how.count % VALUES_WITHOUT_PAUSE == 0 then how.pause() end
  local mark = sub(s, at, at)
  if mark == "{" or mark == "[" then
    if depth >= MAX_DEPTH then return nil, "nested too deep" end
    return (mark == "{" and read_object or read_array)(s, at, how, depth + 1)
  end
  if mark == "\"" then return read_string(s, at, how) end
  if sub(s, at, at + 3) == "true" then return true, at + 4 end
  if sub(s, at, at + 4) == "false" then return false, at + 5 end
  if sub(s, at, at + 3) == "null" then return json.null, at + 4 end
  local value, after = number.read(s, at)
  if value then return value, after end
  return nil, "no value at character " .. number.format(at)
end

--- Reads JSON text. Arrays come marked (@{json.array}), `null` comes as @{json.null}.
-- @tparam string s
-- @tparam[opt] string mode How strings are read: `json.TEXT` (default), `json.BYTES`, `json.RAW` or `json.PLAIN`, by
--   which an object's `null` is left out too.
-- @tparam[opt] function pause Called now and then while much is read.
-- @return The value, or nil if the text is malformed.
-- @treturn string|nil What is wrong with it.
function json.decode(s, mode, pause)
  if type(s) ~= "string" then return nil, "not a string" end
  if mode == json.BYTES and text.is_raw(s) then mode = json.RAW end
  local how = { mode = mode or json.TEXT, pause = pause or no_pause, count = 0 }
  local value, after = read(s, skip_space(s, 1), how, 0)
  if value == nil then return nil, after end
  if skip_space(s, after) <= #s then return nil, "something follows the value" end
  return value
end

return json
