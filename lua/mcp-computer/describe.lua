--- Any Lua value as something the link can carry: descriptors for what code returned, text for what it threw.
--
-- Everything here may run on values that user code made to be hostile: only raw access is used, and the one metamethod
-- that is called (`__tostring` of an error) is called protected, in the job's own coroutine.

local guard = require("mcp-computer.guard")
local json = require("mcp-computer.json")
local number = require("mcp-computer.number")

local byte, find, format, gsub, sub = string.byte, string.find, string.format, string.gsub, string.sub
local concat, sort = table.concat, table.sort
local getmetatable, next, pcall, rawget, tostring, type = getmetatable, next, pcall, rawget, tostring, type

local describe = {}

--- A table's text is cut near this many bytes, and says how much is missing.
describe.REPR_LIMIT = 32 * 1024
--- An error's text is cut at this many bytes.
describe.ERROR_LIMIT = 8 * 1024

-- Tables inside more tables than this are shown as `{ ... }`.
local MAX_DEPTH = 12
-- A table's text has no room for more keys than this; sorting all of a large one would take too long.
local MAX_KEYS = 4096

local RESERVED = {}
for word in string.gmatch("and break do else elseif end false for function goto if in local nil not or repeat return "
  .. "then true until while", "%a+") do
  RESERVED[word] = true
end

local ESCAPES = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ["\""] = "\\\"", ["\\"] = "\\\\" }

local function escape_char(c)
  return ESCAPES[c] or format("\\%03d", byte(c))
end

local function number_text(n)
  if number.is_finite(n) then return number.format(n) end
  if n ~= n then return "0/0" end
  return n > 0 and "math.huge" or "-math.huge"
end

-- The text of a function, thread or userdata; a userdata's `__tostring` may be anything.
local function opaque_text(value)
  local ok, shown = guard.pcall(tostring, value)
  return ok and type(shown) == "string" and shown or type(value)
end

local function limited(s, limit)
  if #s <= limit then return s end
  return sub(s, 1, limit) .. "... (" .. number.format(#s - limit) .. " more bytes)"
end

-- The pieces of a text under construction, and how many bytes it may still grow.
local function new_writer(limit)
  return { left = limit, count = 0, path = {} }
end

local function emit(writer, piece)
  writer.count = writer.count + 1
  writer[writer.count] = piece
  writer.left = writer.left - #piece
end

local function write_string(writer, s)
  local room = writer.left > 0 and writer.left or 0
  local shown = #s > room and sub(s, 1, room) or s
  emit(writer, "\"" .. gsub(shown, "[%c\"\\]", escape_char) .. "\"")
  if #shown < #s then emit(writer, "... (" .. number.format(#s - #shown) .. " more bytes)") end
end

local KEY_ORDER = { number = 1, string = 2, boolean = 3 }

local function key_before(a, b)
  local kind_a, kind_b = type(a), type(b)
  local order_a, order_b = KEY_ORDER[kind_a] or 4, KEY_ORDER[kind_b] or 4
  if order_a ~= order_b then return order_a < order_b end
  if order_a <= 2 then return a < b end
  return order_a == 3 and not a and b -- false before true; the rest has no order that means anything
end

-- Sorts keys and forgets those beyond MAX_KEYS; returns how many are left, and the last of them if some were forgotten.
local function keep_first(keys, count)
  sort(keys, key_before)
  for i = count, MAX_KEYS + 1, -1 do keys[i] = nil end
  if count < MAX_KEYS then return count end
  return MAX_KEYS, keys[MAX_KEYS]
end

-- The keys outside the sequence 1..length, in order (the first MAX_KEYS of them), and how many there are.
local function other_keys(t, length)
  local keys, kept, count = {}, 0, 0
  local bound -- keys after this one have no place any more
  for key in next, t do
    local in_sequence = type(key) == "number" and key >= 1 and key <= length and key % 1 == 0
    if not in_sequence then
      count = count + 1
      if bound == nil or key_before(key, bound) then
        kept = kept + 1
        keys[kept] = key
        if kept == 2 * MAX_KEYS then kept, bound = keep_first(keys, kept) end
      end
    end
  end
  keep_first(keys, kept)
  return keys, count
end

local write

local function write_key(writer, key, depth)
  local kind = type(key)
  if kind == "string" and find(key, "^[%a_][%w_]*$") and not RESERVED[key] then
    emit(writer, key .. " = ")
    return
  end
  emit(writer, "[")
  if kind == "string" then
    write_string(writer, key)
  elseif kind == "number" then
    emit(writer, number_text(key))
  else
    write(writer, key, depth)
  end
  emit(writer, "] = ")
end

local function write_table(writer, t, depth)
  if writer.path[t] then return emit(writer, "<cycle>") end
  if next(t) == nil then return emit(writer, "{}") end
  if depth >= MAX_DEPTH then return emit(writer, "{ ... }") end
  writer.path[t] = true
  local length = 0
  while rawget(t, length + 1) ~= nil do length = length + 1 end
  local keys, key_count = other_keys(t, length)
  local total, shown = length + key_count, 0
  emit(writer, "{ ")
  while shown < total and writer.left > 0 do
    if shown > 0 then emit(writer, ", ") end
    shown = shown + 1
    if shown <= length then
      write(writer, rawget(t, shown), depth + 1)
    else
      local key = keys[shown - length]
      if key == nil then -- beyond MAX_KEYS
        shown = shown - 1
        break
      end
      write_key(writer, key, depth + 1)
      write(writer, rawget(t, key), depth + 1)
    end
  end
  if shown < total then
    emit(writer, (shown > 0 and ", " or "") .. "... (" .. number.format(total - shown) .. " more)")
  end
  emit(writer, " }")
  writer.path[t] = nil
end

function write(writer, value, depth)
  local kind = type(value)
  if kind == "table" then
    write_table(writer, value, depth)
  elseif kind == "string" then
    write_string(writer, value)
  elseif kind == "number" then
    emit(writer, number_text(value))
  elseif kind == "nil" or kind == "boolean" then
    emit(writer, tostring(value))
  else
    emit(writer, opaque_text(value))
  end
end

--- A value as a Lua literal would show it: the sequence part first, then the other keys in order. Cycles, depth and
-- size are cut, and what is left out is said.
-- @param value
-- @tparam[opt] number limit Bytes, about; @{describe.REPR_LIMIT} by default.
-- @treturn string
function describe.repr(value, limit)
  local writer = new_writer(limit or describe.REPR_LIMIT)
  write(writer, value, 0)
  return concat(writer, "", 1, writer.count)
end

--- What a returned value looks like on the link (src/wire/PROTOCOL.md, "Version 1").
-- @param value
-- @treturn table `{type, value}`, or `{type, repr}` for what JSON can't hold.
function describe.value(value)
  local kind = type(value)
  if kind == "nil" then return { type = "nil" } end
  if kind == "string" or kind == "boolean" then return { type = kind, value = value } end
  if kind == "number" then
    if number.is_finite(value) then return { type = kind, value = value } end
    return { type = kind, repr = number.name(value) }
  end
  if kind == "table" then return { type = kind, repr = describe.repr(value) } end
  return { type = kind, repr = limited(opaque_text(value), describe.REPR_LIMIT) }
end

--- The descriptors of a packed list of values, nils included.
-- @tparam table packed With its length in `n`.
-- @tparam number first The first to describe.
-- @treturn table A JSON array.
function describe.values(packed, first)
  local result = {}
  for i = first, packed.n do result[i - first + 1] = describe.value(packed[i]) end
  return json.array(result)
end

-- A metatable's field, unless the metatable is hidden or hostile.
local function has_tostring(value)
  local ok, meta = pcall(getmetatable, value)
  return ok and type(meta) == "table" and rawget(meta, "__tostring") ~= nil
end

--- What was thrown, as text. Errors may be tables, or anything.
-- @param value
-- @treturn string
function describe.error_text(value)
  local kind = type(value)
  if kind == "string" then return limited(value, describe.ERROR_LIMIT) end
  if kind == "table" and not has_tostring(value) then return describe.repr(value, describe.ERROR_LIMIT) end
  local ok, shown = guard.pcall(tostring, value)
  if ok and type(shown) == "string" then return limited(shown, describe.ERROR_LIMIT) end
  return kind == "table" and describe.repr(value, describe.ERROR_LIMIT) or kind
end

return describe
