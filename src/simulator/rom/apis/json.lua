-- textutils.serialiseJSON and unserialiseJSON, with their quirks: bytes over 127 become \u00XX, and come back as
-- UTF-8; NaN and infinities are written as words; mixed tables lose their numeric keys.
-- luacheck: globals textutils utf8

local native = ...
local expect, at_least = native.expect, native.os.atLeast

local function sentinel(name)
  return setmetatable({}, {
    __newindex = function() error("attempt to mutate textutils." .. name, 2) end,
    __tostring = function() return "textutils." .. name end,
  })
end

local empty_array, json_null = sentinel("empty_json_array"), sentinel("json_null")
textutils.empty_json_array, textutils.json_null = empty_array, json_null

local short = {
  ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ['"'] = '\\"', ["\\"] = "\\\\",
}

local function quoted(text, options)
  if not at_least(1, 91) then return ("%q"):format(text) end
  if options.unicode_strings then
    local parts = {}
    for _, point in utf8.codes(text) do
      local letter = point < 128 and string.char(point)
      if letter and letter:find('[^%c"\\]') then
        parts[#parts + 1] = letter
      elseif letter and short[letter] then
        parts[#parts + 1] = short[letter]
      elseif point < 0x10000 then
        parts[#parts + 1] = ("\\u%04X"):format(point)
      else
        point = point - 0x10000
        parts[#parts + 1] = ("\\u%04X\\u%04X"):format(0xd800 + math.floor(point / 1024), 0xdc00 + point % 1024)
      end
    end
    return '"' .. table.concat(parts) .. '"'
  end
  return '"' .. text:gsub('[%z\1-\31"\\\127-\255]', function(letter)
    return short[letter] or ("\\u%04X"):format(letter:byte())
  end) .. '"'
end

local function encode(value, seen, options)
  if value == empty_array then return "[]" end
  if value == json_null then return "null" end
  local kind = type(value)
  if kind == "string" then return quoted(value, options) end
  if kind == "number" then return tostring(value) end
  if kind == "boolean" then return tostring(value) end
  if kind ~= "table" then error("Cannot serialize type " .. kind, 0) end
  if seen[value] ~= nil then
    local recursive = seen[value] or not at_least(1, 109)
    error("Cannot serialize table with " .. (recursive and "recursive" or "repeated") .. " entries", 0)
  end
  seen[value] = true

  local members, largest, count = {}, 0, 0
  for key, item in pairs(value) do
    if type(key) == "string" then
      local colon = options.nbt_style and (key:match("^[%a_][%w_]*$") or quoted(key, options)) or quoted(key, options)
      members[#members + 1] = colon .. ":" .. encode(item, seen, options)
    elseif type(key) == "number" and key >= 1 and key == math.floor(key) then
      largest = math.max(largest, key)
      count = count + 1
    end
  end
  local text
  if #members > 0 or count == 0 then
    text = "{" .. table.concat(members, ",") .. "}"
  else
    local items = {}
    for n = 1, largest do
      if value[n] == nil then
        if not at_least(1, 95, 3) then break end
        items[n] = "null"
      else
        items[n] = encode(value[n], seen, options)
      end
    end
    text = "[" .. table.concat(items, ",") .. "]"
  end
  if options.allow_repetitions then seen[value] = nil else seen[value] = false end
  return text
end

function textutils.serialiseJSON(value, options)
  expect(1, value, "table", "string", "number", "boolean")
  expect(2, options, "table", "boolean", "nil")
  if type(options) == "boolean" then options = { nbt_style = options } end
  local ok, text = pcall(encode, value, {}, options or {})
  if not ok then error(text, 2) end
  return text
end

---------------------------------------------------------------- reading

local escapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }

local function utf8_char(point)
  if point < 0x80 then return string.char(point) end
  if point < 0x800 then return string.char(0xc0 + math.floor(point / 64), 0x80 + point % 64) end
  return string.char(0xe0 + math.floor(point / 4096), 0x80 + math.floor(point / 64) % 64, 0x80 + point % 64)
end

local function fail(at, text, ...)
  error({ json = ("Malformed JSON at position %d: " .. text):format(at, ...) }, 0)
end

local decode

local function skip(text, at)
  return text:find("[^ \n\r\t]", at) or #text + 1
end

local function decode_string(text, at)
  local parts = {}
  local here = at + 1
  while true do
    local stop = text:find('[%c"\\]', here)
    if not stop then fail(#text + 1, "Unexpected end of input, expected '\"'.") end
    parts[#parts + 1] = text:sub(here, stop - 1)
    local letter = text:sub(stop, stop)
    if letter == '"' then return table.concat(parts), stop + 1 end
    if letter ~= "\\" then
      if letter == "\n" then fail(stop, "Unexpected end of line, expected '\"'.") end
      parts[#parts + 1] = letter
      here = stop + 1
    else
      local name = text:sub(stop + 1, stop + 1)
      if name == "u" then
        local hex = text:match("^%x%x%x%x", stop + 2)
        if not hex then fail(stop, "Malformed unicode escape.") end
        parts[#parts + 1] = utf8_char(tonumber(hex, 16))
        here = stop + 6
      else
        parts[#parts + 1] = escapes[name] or fail(stop, "Unknown escape character '%s'.", name)
        here = stop + 2
      end
    end
  end
end

local function decode_object(text, at, options)
  local object = {}
  at = skip(text, at + 1)
  if text:sub(at, at) == "}" then return object, at + 1 end
  while true do
    local key
    if text:sub(at, at) == '"' then
      key, at = decode_string(text, at)
    elseif options.nbt_style then
      key = text:match("^[%w_%-%+%.]+", at) or fail(at, "Expected object key.")
      at = at + #key
    else
      fail(at, "Expected object key.")
    end
    at = skip(text, at)
    if text:sub(at, at) ~= ":" then fail(at, "Expected ':'.") end
    object[key], at = decode(text, skip(text, at + 1), options)
    at = skip(text, at)
    local letter = text:sub(at, at)
    if letter == "}" then return object, at + 1 end
    if letter ~= "," then fail(at, "Expected ',' or '}'.") end
    at = skip(text, at + 1)
  end
end

local function decode_array(text, at, options)
  local array, count = {}, 0
  at = skip(text, at + 1)
  if text:sub(at, at) == "]" then
    if options.parse_empty_array == false then return {}, at + 1 end
    return empty_array, at + 1
  end
  while true do
    count = count + 1
    array[count], at = decode(text, at, options)
    at = skip(text, at)
    local letter = text:sub(at, at)
    if letter == "]" then return array, at + 1 end
    if letter ~= "," then fail(at, "Expected ',' or ']'.") end
    at = skip(text, at + 1)
  end
end

function decode(text, at, options)
  local letter = text:sub(at, at)
  if letter == "{" then return decode_object(text, at, options) end
  if letter == "[" then return decode_array(text, at, options) end
  if letter == '"' then return decode_string(text, at) end
  local word = text:match("^%a+", at)
  if word == "true" then return true, at + 4 end
  if word == "false" then return false, at + 5 end
  if word == "null" then
    if options.parse_null then return json_null, at + 4 end
    return nil, at + 4
  end
  local digits = text:match("^%-?%d+%.?%d*[eE]?[%+%-]?%d*", at)
  if digits and tonumber(digits) then return tonumber(digits), at + #digits end
  if letter == "" then fail(at, "Unexpected end of input.") end
  fail(at, "Unexpected character '%s'.", letter)
end

function textutils.unserialiseJSON(text, options)
  expect(1, text, "string")
  expect(2, options, "table", "nil")
  local ok, value, after = pcall(decode, text, skip(text, 1), options or {})
  if ok then
    after = skip(text, after)
    if after <= #text then
      local letter = text:sub(after, after)
      return nil, ("Malformed JSON at position %d: Unexpected trailing character '%s'."):format(after, letter)
    end
    return value
  end
  if type(value) == "table" and value.json then return nil, value.json end
  error(value, 0)
end

textutils.serializeJSON, textutils.unserializeJSON = textutils.serialiseJSON, textutils.unserialiseJSON
