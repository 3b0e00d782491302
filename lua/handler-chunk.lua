--- What goes with a handler to an agent that runs plain code only: it calls the handler, and writes what that returns
-- as one string of JSON in ASCII, which every link carries unharmed. In what Lua 5.1 and 5.2 have in common.

local concat, sort = table.concat, table.sort
local byte, format, gsub = string.byte, string.format, string.gsub
local error, next, rawget, select, tostring, type = error, next, rawget, select, tostring, type
local huge = math.huge

-- Deeper values are `null`.
local MAX_DEPTH = 32

local function escape(c)
  return format("\\u%04x", byte(c))
end

local function write_string(out, s)
  out[#out + 1] = "\"" .. gsub(s, "[^ !#-%[%]-~]", escape) .. "\""
end

local function write_number(out, n)
  if n ~= n or n == huge or n == -huge then
    out[#out + 1] = "null"
  elseif n % 1 == 0 and n >= -2 ^ 53 and n <= 2 ^ 53 then
    out[#out + 1] = format("%.0f", n)
  else
    out[#out + 1] = gsub(format("%.17g", n), ",", ".") .. ""
  end
end

-- The length of a table that holds exactly the keys 1 to n, or nil.
local function length_of(t)
  local length, count = 0, 0
  while rawget(t, length + 1) ~= nil do length = length + 1 end
  for _ in next, t do count = count + 1 end
  return length > 0 and count == length and length or nil
end

local write

local function write_table(out, t, depth)
  local length = length_of(t)
  if length then
    for i = 1, length do
      out[#out + 1] = i == 1 and "[" or ","
      write(out, rawget(t, i), depth)
    end
    out[#out + 1] = "]"
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
  elseif kind == "number" then
    write_number(out, value)
  elseif kind == "boolean" then
    out[#out + 1] = tostring(value)
  elseif kind == "table" and depth < MAX_DEPTH then
    write_table(out, value, depth + 1)
  else
    out[#out + 1] = "null"
  end
end

local function encode(count, ...)
  local out = { "[" }
  for i = 1, count do
    if i > 1 then out[#out + 1] = "," end
    write(out, (select(i, ...)), 0)
  end
  out[#out + 1] = "]"
  return concat(out)
end

local function pack_and_encode(...)
  return encode(select("#", ...), ...)
end

--- Calls a handler.
-- @tparam function chunk The handler's source.
-- @tparam string|nil method The function of the table that it returns; nil: it is called itself.
-- @treturn string The values it returns, as a JSON array.
return function(chunk, method, ...)
  if not method then return pack_and_encode(chunk(...)) end
  local exports = chunk()
  if type(exports) ~= "table" or type(exports[method]) ~= "function" then
    error("the handler must return a table with the function '" .. method .. "'", 0)
  end
  return pack_and_encode(exports[method](...))
end
